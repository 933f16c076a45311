// Package pgpin runs leat's statements on sessions of the application with leat's own settings.
// Settings of a role, a database or the application must not change the meaning of a statement, or
// how its result is read.
//
// A session of leat's own is set up once, when it is opened. A transaction of leat's own on a
// session of the application begins with TxOptions, and a single statement goes through On. Pool
// does both. Statements that run in a transaction of the application, such as Enqueue and the
// claims of inboxes, change no setting.
package pgpin

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// SearchPath is the search path of leat's own sessions. Functions that others create in a schema of
// the application's path are not called (rule S12). leat's own names are always qualified.
const SearchPath = "pg_catalog, pg_temp"

// Settings pins, until the end of the transaction, the search path and the text formats of times
// and bytes: pgx reads no other format where results travel as text (QueryExecModeExec and
// QueryExecModeSimpleProtocol).
const Settings = `SELECT pg_catalog.set_config('search_path', '` + SearchPath + `', true), ` +
	`pg_catalog.set_config('DateStyle', 'ISO', true), pg_catalog.set_config('bytea_output', 'hex', true)`

// Sender is a pool, or a connection that is not in a transaction.
type Sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// On runs statements on DB, each with Settings in its own implicit transaction, in one round trip.
// It is as safe for concurrent use as DB is.
type On struct {
	DB Sender
}

// send sends Settings and sql, and reads the result of Settings.
func (o On) send(ctx context.Context, sql string, args []any) (pgx.BatchResults, error) {
	batch := &pgx.Batch{}
	batch.Queue(Settings)
	batch.Queue(sql, args...)
	results := o.DB.SendBatch(ctx, batch)
	if _, err := results.Exec(); err != nil {
		_ = results.Close() // the same error
		return nil, err
	}
	return results, nil
}

// Query runs a statement that returns rows. Rows.Err returns an error of its commit.
func (o On) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	results, err := o.send(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	inner, err := results.Query()
	if err != nil {
		_ = results.Close() // the same error
		return nil, err
	}
	return &rows{Rows: inner, finish: results.Close}, nil
}

// Exec runs a statement and returns how many rows it has changed.
func (o On) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	results, err := o.send(ctx, sql, args)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := results.Exec()
	if closed := results.Close(); err == nil {
		err = closed
	}
	return tag, err
}

// QueryRow runs a statement that returns a row. Row.Scan returns its errors.
func (o On) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	results, err := o.send(ctx, sql, args)
	return row{results: results, err: err}
}

// rows ends its transaction after the last row.
type rows struct {
	pgx.Rows

	finish func() error // nil when the transaction has ended
	err    error
}

// Next implements pgx.Rows.
func (r *rows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.end()
	return false
}

// Close implements pgx.Rows.
func (r *rows) Close() {
	r.Rows.Close()
	r.end()
}

// Err implements pgx.Rows.
func (r *rows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return err
	}
	return r.err
}

func (r *rows) end() {
	if finish := r.finish; finish != nil {
		r.finish = nil
		r.err = finish()
	}
}

// row is the first row of a statement.
type row struct {
	results pgx.BatchResults
	err     error
}

// Scan implements pgx.Row. It can be called once.
func (r row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	err := r.results.QueryRow().Scan(dest...)
	if closed := r.results.Close(); err == nil || errors.Is(err, pgx.ErrNoRows) && closed != nil {
		err = closed
	}
	return err
}

// TxOptions returns opts for a transaction that begins with Settings, in one round trip.
func TxOptions(opts pgx.TxOptions) pgx.TxOptions {
	begin := "begin"
	if opts.IsoLevel != "" {
		begin += " isolation level " + string(opts.IsoLevel)
	}
	if opts.AccessMode != "" {
		begin += " " + string(opts.AccessMode)
	}
	if opts.DeferrableMode != "" {
		begin += " " + string(opts.DeferrableMode)
	}
	return pgx.TxOptions{BeginQuery: begin + "; " + Settings, CommitQuery: opts.CommitQuery}
}

// Pool runs leat's own work on the application's sessions: every statement and transaction has
// Settings. Sessions that Sessions and Use lend are as the application left them.
type Pool struct {
	Sessions
}

// Query is On.Query.
func (p Pool) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return On{p.Sessions}.Query(ctx, sql, args...)
}

// QueryRow is On.QueryRow.
func (p Pool) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return On{p.Sessions}.QueryRow(ctx, sql, args...)
}

// Exec is On.Exec.
func (p Pool) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return On{p.Sessions}.Exec(ctx, sql, args...)
}

// BeginTx begins a transaction with Settings.
func (p Pool) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	return p.Sessions.BeginTx(ctx, TxOptions(opts))
}

// Begin is BeginTx with the options of the session.
func (p Pool) Begin(ctx context.Context) (pgx.Tx, error) {
	return p.BeginTx(ctx, pgx.TxOptions{})
}

// SendBatch sends b behind Settings, whose result comes first: callbacks of b do not see it.
func (p Pool) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	b.QueuedQueries = append([]*pgx.QueuedQuery{{SQL: Settings}}, b.QueuedQueries...)
	return p.Sessions.SendBatch(ctx, b)
}
