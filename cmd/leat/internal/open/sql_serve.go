package open

import (
	"context"
	"errors"
	"fmt"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// sqlRelayed is an outbox on database/sql. Relays and maintenance share it, so that they wake each other.
type sqlRelayed struct {
	own *sqloutbox.Outbox
	of  *SQL
}

// Relayed implements Served.
func (d *SQL) Relayed(t Target) (Relayed, error) {
	at := d.at(t)
	own, err := at.own()
	if err != nil {
		return nil, err
	}
	return &sqlRelayed{own, at}, nil
}

// Admin implements Relayed.
func (r *sqlRelayed) Admin() admin.Outbox { return r.own.Admin() }

// Source implements Relayed.
func (r *sqlRelayed) Source(s SourceRequest) (driver.Source, error) {
	err := refuse(
		r.of.Product(),
		unable{"slots", s.Slots, s.Slots > 1}, unable{"no_listen", true, s.NoListen}, unable{"tail", true, s.Tail != nil},
		unable{"exactly_once", true, s.SyncPositions},
	)
	if err != nil {
		return nil, err
	}
	return r.own.Source(sqloutbox.SourceConfig{Group: s.Group, Start: s.start(), Topics: s.Topics})
}

// Maintenance implements Relayed.
func (r *sqlRelayed) Maintenance(u Upkeep) (Runner, error) {
	err := refuse(
		r.of.Product(),
		unable{"lease", u.Lease, u.Lease != 0}, unable{"max_bytes", u.MaxBytes, u.MaxBytes != 0}, unable{"partition_size", u.PartitionSize, u.PartitionSize != 0},
		unable{"ahead", u.Ahead, u.Ahead != 0}, unable{"no_ddl", true, u.NoDDL}, unable{"archive", "a directory", u.Archive != nil},
	)
	if err != nil {
		return nil, err
	}
	return sqloutbox.NewMaintenance(r.own, sqloutbox.MaintenanceConfig{
		Interval: u.Interval, Retention: u.Retention, KeepAudit: u.KeepAudit, KeepDead: u.KeepDead, Hooks: u.Hooks,
	})
}

// InboxAt implements Served.
func (d *SQL) InboxAt(t Target) (inboxadmin.Inbox, error) { return d.at(t).Inbox() }

// InboxMaintenance implements Served.
func (d *SQL) InboxMaintenance(t Target, u InboxUpkeep) (Runner, error) {
	at := d.at(t)
	err := errors.Join(at.check(), refuse(
		d.Product(),
		unable{"width", u.Width, u.Width != 0}, unable{"ahead", u.Ahead, u.Ahead != 0}, unable{"no_ddl", true, u.NoDDL},
		unable{"keep_other", u.KeepOther, u.KeepOther != 0},
	))
	if err != nil {
		return nil, err
	}
	return sqlinbox.NewMaintenance(d.db, d.named, at.inboxConfig(), sqlinbox.MaintenanceConfig{
		Retention: u.Retention, KeepAudit: u.KeepAudit, Interval: u.Interval, Logger: t.Logger, Hooks: u.Hooks,
	})
}

// at returns the database with other tables.
func (d *SQL) at(t Target) *SQL {
	other := *d
	other.target = t
	return &other
}

// Ping implements Served.
func (d *SQL) Ping(ctx context.Context) error {
	if err := d.db.PingContext(ctx); err != nil {
		return fmt.Errorf("leat: it does not answer: %w", err)
	}
	return nil
}

// Room implements Served. A file has no bound.
func (d *SQL) Room(ctx context.Context) (r Room, err error) {
	if d.dialect.OneWriter {
		return r, nil
	}
	var connected int
	var name string
	err = d.db.QueryRowContext(ctx, "SELECT @@max_connections").Scan(&r.Most)
	if err == nil {
		err = d.db.QueryRowContext(ctx, connectedNow()).Scan(&name, &connected)
	}
	r.Server, r.Left = d.server, r.Most-connected
	return r, err
}

// connectedNow is the statement that counts the connections of a server.
func connectedNow() string {
	sql, err := statements.ReadFile("sql/mysql_connected.sql")
	if err != nil {
		panic("leat: an embedded file is not there") // cannot happen
	}
	return string(sql)
}

// Spare implements Served. Nothing is taken in addition to the pool.
func (*SQL) Spare(int) {}

// Name implements Served.
func (d *SQL) Name() string { return d.name }
