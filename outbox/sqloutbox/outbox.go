package sqloutbox

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/outbox"
)

// Outbox is one outbox in one database. It is safe for concurrent use; make one and keep
// it. It owns no goroutines and needs no Close.
type Outbox struct {
	db       *sql.DB
	dialect  sqldialect.Dialect
	cfg      Config
	preparer outbox.Preparer
	sql      statements
	bell     bell
}

var _ outbox.Enqueuer = (*Outbox)(nil)

// New returns the outbox that lives in the database of db. It returns an error that wraps
// outbox.ErrInvalidConfig if db is nil, the dialect is none, or cfg cannot work. It
// connects to nothing: call Migrate once, for example at start-up.
//
// On MySQL and MariaDB, interpolateParams=true in the driver's DSN saves a round trip a
// statement. On SQLite, transactions must lock as they begin (_txlock=immediate) and wait
// for one another (busy_timeout): a transaction that reads first and writes later fails
// at once if another one has written meanwhile. Source.Check refuses a database that is
// set up otherwise.
func New(db *sql.DB, dialect Dialect, cfg Config) (*Outbox, error) {
	if db == nil {
		return nil, outbox.ConfigError("db", nil, "must not be nil")
	}
	d, err := sqldialect.Of(dialect)
	if err != nil {
		return nil, outbox.ConfigError("dialect", string(dialect), err.Error())
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	all, err := loadStatements(d, cfg.Table)
	if err != nil {
		return nil, err
	}
	return &Outbox{
		db: db, dialect: d, cfg: cfg, sql: all,
		preparer: outbox.Preparer{MaxPayloadBytes: cfg.MaxPayloadBytes, Injector: cfg.Injector},
	}, nil
}

// querier is a connection or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// look runs work on one view of the database. A transaction, so that a connection whose
// autocommit is off shows what is there now; of a level at which reading locks nothing,
// whatever the pool's connections are told to do otherwise.
func (o *Outbox) look(ctx context.Context, work func(q querier) error) error {
	opts := &sql.TxOptions{ReadOnly: true}
	if !o.dialect.OneWriter {
		opts.Isolation = sql.LevelRepeatableRead
	}
	tx, err := o.db.BeginTx(ctx, opts)
	if err != nil {
		return o.describe(err)
	}
	defer func() { _ = tx.Rollback() }()
	return o.describe(work(tx))
}

// change runs work in a transaction and commits it if work returns nil.
func (o *Outbox) change(ctx context.Context, work func(tx *sql.Tx) error) error {
	return o.changeOn(ctx, o.db, work)
}

type beginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

func (o *Outbox) changeOn(ctx context.Context, on beginner, work func(tx *sql.Tx) error) error {
	tx, err := on.BeginTx(ctx, o.txOptions())
	if err != nil {
		return o.describe(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := work(tx); err != nil {
		return o.describe(err)
	}
	return o.describe(tx.Commit())
}

// txOptions are those of leat's own transactions: each statement sees what is committed
// when it begins, and locks no more than it finds. SQLite knows no levels.
func (o *Outbox) txOptions() *sql.TxOptions {
	if o.dialect.OneWriter {
		return nil
	}
	return &sql.TxOptions{Isolation: sql.LevelReadCommitted}
}

// describe adds what a database's error means for an outbox, if it is known.
func (o *Outbox) describe(err error) error {
	if sqldialect.MissingTable(err) {
		return fmt.Errorf("%w: table %s: %w", outbox.ErrNotMigrated, o.cfg.Table, err)
	}
	return err
}

// affected returns the number of rows that a statement has written.
func affected(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
