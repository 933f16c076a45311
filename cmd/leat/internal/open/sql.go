package open

import (
	"cmp"
	"context"
	"database/sql"
	"net"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	inboxdriver "github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// SQL is a database behind database/sql: MySQL, MariaDB or SQLite.
type SQL struct {
	db      *sql.DB
	named   outbox.Dialect
	dialect sqldialect.Dialect
	name    string // for operators
	server  string // of MySQL and MariaDB
	file    string // of SQLite
	target  Target
}

// products are the names of dialects as operators know them.
func products() map[outbox.Dialect]string {
	return map[outbox.Dialect]string{outbox.MySQL: "MySQL", outbox.MariaDB: "MariaDB", outbox.SQLite: "SQLite"}
}

func openSQL(t Target) (*SQL, error) {
	named := outbox.Dialect(settings.Scheme(t.URL))
	dialect, err := sqldialect.Of(named)
	if err != nil {
		return nil, err
	}
	d := &SQL{named: named, dialect: dialect, target: t}
	switch {
	case t.Offline:
		d.db = sql.OpenDB(nowhere{})
	case dialect.OneWriter:
		err = d.openFile()
	default:
		err = d.openServer()
	}
	if err != nil {
		return nil, err
	}
	if err := d.check(); err != nil {
		d.Close()
		return nil, err
	}
	most := cmp.Or(t.Connections, connections)
	d.db.SetMaxOpenConns(most)
	d.db.SetMaxIdleConns(most)
	d.db.SetConnMaxIdleTime(idleTime)
	return d, nil
}

// check rejects options that only PostgreSQL supports.
func (d *SQL) check() error {
	return refuse(
		d.Product(),
		unable{"schema", d.target.Schema, d.target.Schema != ""}, unable{"forwarder", d.target.Forwarder, d.target.Forwarder != ""},
	)
}

// Product implements Database.
func (d *SQL) Product() string { return products()[d.named] }

// Close implements Database.
func (d *SQL) Close() { _ = d.db.Close() }

// Dialect is the dialect of the stores.
func (d *SQL) Dialect() outbox.Dialect { return d.named }

// Another opens the database once more, and connects to nothing. The caller must close it.
func (d *SQL) Another(dial Dial) (*sql.DB, error) {
	t := d.target
	t.Dial = dial
	another, err := openSQL(t)
	if err != nil {
		return nil, err
	}
	return another.db, nil
}

// Path is the path of the SQLite file.
func (d *SQL) Path() string { return d.file }

// Beside opens another SQLite file in the same way, and creates it on first use. The caller must close it.
func (d *SQL) Beside(path string) (*sql.DB, error) {
	t := d.target
	t.URL, t.Create = "sqlite:"+path, true
	beside, err := openSQL(t)
	if err != nil {
		return nil, err
	}
	return beside.db, nil
}

// Dialler opens connections in the same way as those of the database.
func (d *SQL) Dialler() Dial {
	if d.target.Dial != nil {
		return d.target.Dial
	}
	return (&net.Dialer{}).DialContext
}

// Now is the time by the database's clock.
func (d *SQL) Now(ctx context.Context) (time.Time, error) {
	var micros int64
	err := d.db.QueryRowContext(ctx, "SELECT "+d.dialect.Now).Scan(&micros)
	return time.UnixMicro(micros), err
}

func (d *SQL) own() (*sqloutbox.Outbox, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	return sqloutbox.New(d.db, d.named, d.outboxConfig())
}

func (d *SQL) outboxConfig() sqloutbox.Config {
	return sqloutbox.Config{Table: d.target.Outbox, AllowAsyncCommit: d.target.AsyncCommit, Logger: d.target.Logger}
}

func (d *SQL) inboxConfig() sqlinbox.Config {
	cfg := sqlinbox.Config{Table: d.target.Inbox}
	cfg.Logger = d.target.Logger
	return cfg
}

// Outbox implements Database.
func (d *SQL) Outbox() (admin.Outbox, error) {
	own, err := d.own()
	if err != nil {
		return nil, err
	}
	return own.Admin(), nil
}

// Inbox implements Database.
func (d *SQL) Inbox() (inboxadmin.Inbox, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	return sqlinbox.NewAdmin(d.db, d.named, d.inboxConfig())
}

// Marker implements Marks.
func (d *SQL) Marker() (inboxdriver.Marker, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	return sqlinbox.New(d.db, d.named, "leat", d.inboxConfig())
}

// History implements Replayer. The audit of these stores does not name the group of a replay.
func (d *SQL) History(s Selection) (driver.History, error) {
	if s.Group != "" && s.Group != "default" {
		return nil, outbox.ConfigError("group", s.Group, "the audit of "+d.Product()+" names no group of a replay: leave it out")
	}
	ob, err := d.own()
	if err != nil {
		return nil, err
	}
	return ob.History(sqloutbox.HistoryConfig{Since: s.From, Until: s.To, Topics: s.Topics, Keys: s.Keys, IDs: s.IDs})
}

// RebaseLog implements LogRebaser.
func (d *SQL) RebaseLog(ctx context.Context, by admin.By) error {
	ob, err := d.own()
	if err != nil {
		return err
	}
	return ob.Rebase(ctx, sqloutbox.RebaseRequest{By: by})
}

// Maintain implements Maintainer.
func (d *SQL) Maintain(ctx context.Context, r MaintenanceRequest) (admin.MaintenanceReport, error) {
	ob, err := d.own()
	if err != nil {
		return admin.MaintenanceReport{}, err
	}
	// Only PostgreSQL has ranges: their default settings do not apply here.
	if err := refuse(d.Product(), unable{"max-bytes", r.MaxBytes, r.MaxBytes != 0}, unable{"no-ddl", true, r.NoDDL}); err != nil {
		return admin.MaintenanceReport{}, err
	}
	m, err := sqloutbox.NewMaintenance(ob, sqloutbox.MaintenanceConfig{Retention: r.Retention})
	if err != nil {
		return admin.MaintenanceReport{}, err
	}
	return m.RunOnce(ctx)
}
