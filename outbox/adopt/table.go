package adopt

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/outbox"
)

// errTableBusy is returned by Adopt and Release if transactions that use the table did not end
// within Config.LockTimeout. Nothing has changed: call again.
var errTableBusy = errors.New("leat: the table's writers did not end within the time to wait for locks: try again, or wait longer")

// Table is a service's own outbox table. It is safe for concurrent use.
type Table struct {
	cfg Config
	db  database
}

// database is PostgreSQL, or MySQL and MariaDB.
type database interface {
	columns(ctx context.Context) ([]column, error)
	adopted(ctx context.Context) (bool, error)
	plan(ctx context.Context) (Plan, error)
	adopt(ctx context.Context) error
	release(ctx context.Context) error
	name() string
}

// Plan is the plan of an Adopt.
type Plan struct {
	// Adopted is set if the table is adopted already: its pending rows have been passed on.
	Adopted bool
	// Pending is the number of rows that would be passed on.
	Pending int64
	// First are the first of their messages, at most three. If there are no pending rows, they
	// are made from any rows, to show what would be sent.
	First []outbox.Message
	// SQL is the script that Adopt runs. On PostgreSQL another tool can run it, in one
	// transaction. It depends on the types of the columns.
	SQL string
}

// New returns the table that cfg describes, on PostgreSQL. It connects to nothing. Errors wrap
// outbox.ErrInvalidConfig.
func New(pool *pgxpool.Pool, cfg Config) (*Table, error) {
	if pool == nil {
		return nil, outbox.ConfigError("pool", nil, "must not be nil")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	db, err := newPostgres(pgpin.Pool{Sessions: pgpin.Of(pool)}, cfg)
	if err != nil {
		return nil, err
	}
	return &Table{cfg: cfg, db: db}, nil
}

// NewSQL is New for MySQL and MariaDB.
func NewSQL(db *sql.DB, dialect outbox.Dialect, cfg Config) (*Table, error) {
	if db == nil {
		return nil, outbox.ConfigError("db", nil, "must not be nil")
	}
	d, err := sqldialect.Of(dialect)
	if err != nil || d.OneWriter {
		return nil, outbox.ConfigError("dialect", strconv.Quote(string(dialect)), `must be "mysql" or "mariadb"`)
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	server, err := newMySQL(db, d, cfg)
	if err != nil {
		return nil, err
	}
	return &Table{cfg: cfg, db: server}, nil
}

// Adopt passes on the pending rows, and installs triggers that write each row inserted from now
// on to leat's outbox. It waits for the transactions that have written to the table: when it
// returns, every transaction that bypassed the triggers has ended. Without Config.Pending,
// existing rows are left to the old worker. It is safe to call again: then it updates the
// triggers to the Config.
//
// It fails and changes nothing if a pending row cannot be sent. On PostgreSQL it needs the role
// that owns the table and leat's schema, or a superuser; on MySQL and MariaDB the rights TRIGGER
// and LOCK TABLES, and with a binary log log_bin_trust_function_creators=1 or SUPER. There it
// holds the pending rows in memory. The error wraps outbox.ErrInvalidConfig if the table lacks a
// column or has it with another type, and outbox.ErrNotMigrated if the outbox's schema is
// missing.
func (t *Table) Adopt(ctx context.Context) error {
	if err := t.cfg.complete(); err != nil {
		return err
	}
	return t.db.adopt(ctx)
}

// Release removes what Adopt has created. Rows inserted from then on are the old worker's alone.
// Rows inserted before are in leat's outbox: wait until a relay has sent them before you start
// the old worker. With Config.Done, pending rows are marked at the same moment.
func (t *Table) Release(ctx context.Context) error {
	if err := t.cfg.complete(); err != nil {
		return err
	}
	return t.db.release(ctx)
}

// Adopted reports whether the triggers exist.
func (t *Table) Adopted(ctx context.Context) (bool, error) { return t.db.adopted(ctx) }

// Plan returns what Adopt would do, and what it would refuse. It changes nothing.
func (t *Table) Plan(ctx context.Context) (Plan, error) {
	if err := t.cfg.complete(); err != nil {
		return Plan{}, err
	}
	return t.db.plan(ctx)
}

// Name is the qualified name of the table, quoted.
func (t *Table) Name() string { return t.db.name() }

// Recognize proposes a Config based on the columns of the table, and returns the name of the
// shape that they match, or "" if they match no known shape. Fields that are set are kept. What
// cannot be derived is left empty, such as a topic that is not in the table.
func (t *Table) Recognize(ctx context.Context) (Config, string, error) {
	columns, err := t.db.columns(ctx)
	if err != nil {
		return Config{}, "", err
	}
	cfg, shape := recognize(columns, t.cfg)
	return cfg, shape, nil
}

// missing refuses a table without columns.
func missing(table string) error { return outbox.ConfigError("Table", table, "does not exist") }
