package open

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/wmforward"
)

// pgRelayed is an outbox in PostgreSQL, or the table of a forwarder.
type pgRelayed struct {
	store admin.Outbox
	own   *pgoutbox.Outbox // nil for a forwarder
	of    *Postgres
}

// Relayed implements Served.
func (p *Postgres) Relayed(t Target) (Relayed, error) {
	at := p.at(t)
	if t.Forwarder != "" {
		store, err := at.Outbox()
		return &pgRelayed{store, nil, at}, err
	}
	own, err := at.own()
	if err != nil {
		return nil, err
	}
	return &pgRelayed{own.Admin(), own, at}, nil
}

// Admin implements Relayed.
func (r *pgRelayed) Admin() admin.Outbox { return r.store }

// Source implements Relayed.
func (r *pgRelayed) Source(s SourceRequest) (driver.Source, error) {
	if r.own == nil {
		return r.forwarder(s)
	}
	return r.own.Source(pgoutbox.SourceConfig{
		Group: s.Group, Start: s.start(), Slots: s.Slots, Topics: s.Topics, NoListen: s.NoListen, SyncPositions: s.SyncPositions, Tail: s.Tail,
	})
}

const forwarderTable = "the table of a forwarder"

func (r *pgRelayed) forwarder(s SourceRequest) (driver.Source, error) {
	err := refuse(
		forwarderTable,
		unable{"slots", s.Slots, s.Slots > 1}, unable{"topics", s.Topics, len(s.Topics) > 0},
		unable{"start", s.Start, s.Start != "" || !s.At.IsZero()}, unable{"tail", true, s.Tail != nil}, unable{"exactly_once", true, s.SyncPositions},
	)
	if err != nil {
		return nil, err
	}
	t := r.of.target
	return wmforward.New(r.of.Pool, wmforward.Config{Topic: t.Forwarder, Schema: t.ForwarderSchema, Group: s.Group, AllowAsyncCommit: t.AsyncCommit, Logger: t.Logger})
}

// Maintenance implements Relayed.
func (r *pgRelayed) Maintenance(u Upkeep) (Runner, error) {
	if r.own == nil {
		return nil, refuse(forwarderTable, unable{"maintenance", r.of.target.Forwarder, true})
	}
	return pgoutbox.NewMaintenance(r.own, pgoutbox.MaintenanceConfig{
		Interval: u.Interval, Lease: u.Lease, Retention: u.Retention, MaxBytes: u.MaxBytes, PartitionSize: u.PartitionSize, Ahead: u.Ahead,
		NoDDL: u.NoDDL, KeepAudit: u.KeepAudit, KeepDead: u.KeepDead, Archive: u.Archive, Hooks: u.Hooks,
	})
}

// InboxAt implements Served.
func (p *Postgres) InboxAt(t Target) (inboxadmin.Inbox, error) { return p.at(t).Inbox() }

// InboxMaintenance implements Served.
func (p *Postgres) InboxMaintenance(t Target, u InboxUpkeep) (Runner, error) {
	return pginbox.NewMaintenance(p.Pool, p.at(t).inboxConfig(), pginbox.MaintenanceConfig{
		Retention: u.Retention, Width: u.Width, Ahead: u.Ahead, NoDDL: u.NoDDL, Interval: u.Interval,
		KeepOther: u.KeepOther, KeepAudit: u.KeepAudit, Hooks: u.Hooks,
	})
}

// at returns the database with other tables.
func (p *Postgres) at(t Target) *Postgres { return &Postgres{Pool: p.Pool, target: t, room: p.room} }

// Ping implements Served.
func (p *Postgres) Ping(ctx context.Context) error {
	if err := p.Pool.Ping(ctx); err != nil {
		return fmt.Errorf("leat: it does not answer: %w", err)
	}
	return nil
}

// Room implements Served.
func (p *Postgres) Room(ctx context.Context) (r Room, err error) {
	sql, err := statements.ReadFile("sql/connections.sql")
	if err != nil {
		return r, err
	}
	c := p.Pool.Config().ConnConfig
	r.Server = net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	return r, p.Pool.QueryRow(ctx, string(sql)).Scan(&r.Left, &r.Most)
}

// Spare implements Served.
func (p *Postgres) Spare(most int) { p.room.Limit(most) }

// Name implements Served.
func (p *Postgres) Name() string {
	c := p.Pool.Config().ConnConfig
	if c.Host == "" {
		return ""
	}
	if strings.HasPrefix(c.Host, "/") {
		return c.Host + "/" + c.Database
	}
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))) + "/" + c.Database
}

// Product implements Database.
func (p *Postgres) Product() string {
	if p.target.Forwarder != "" {
		return forwarderTable
	}
	return "PostgreSQL"
}
