package pgpin

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Committed is a Pool whose single statements run as READ COMMITTED transactions, whatever the
// default of the sessions is. It is for maintenance: at SERIALIZABLE, its reads and deletes would
// make the server abort transactions of running handlers.
type Committed struct {
	Pool
}

// NewCommitted returns the application's sessions as Committed.
func NewCommitted(s Sessions) Committed { return Committed{Pool{s}} }

func readCommitted() pgx.TxOptions { return pgx.TxOptions{IsoLevel: pgx.ReadCommitted} }

// Exec runs a statement and returns how many rows it has changed.
func (c Committed) Exec(ctx context.Context, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	err = pgx.BeginTxFunc(ctx, c.Pool, readCommitted(), func(tx pgx.Tx) error {
		tag, err = tx.Exec(ctx, sql, args...)
		return err
	})
	return tag, err
}

// Query runs a statement that returns rows. Its transaction ends after the last row, or with Close.
// Rows.Err returns an error of its commit.
func (c Committed) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	tx, err := c.BeginTx(ctx, readCommitted())
	if err != nil {
		return nil, err
	}
	inner, err := tx.Query(ctx, sql, args...)
	if err != nil {
		_ = tx.Rollback(ctx) // there is another error to report
		return nil, err
	}
	return &rows{Rows: inner, finish: func() error {
		if inner.Err() != nil {
			return tx.Rollback(ctx)
		}
		return tx.Commit(ctx)
	}}, nil
}

// QueryRow runs a statement that returns a row. Row.Scan returns its errors.
func (c Committed) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	all, err := c.Query(ctx, sql, args...)
	return first{all, err}
}

// first is the first of rows, or the error that prevented them.
type first struct {
	rows pgx.Rows
	err  error
}

// Scan implements pgx.Row. It can be called once.
func (f first) Scan(dest ...any) error {
	if f.err != nil {
		return f.err
	}
	defer f.rows.Close()
	if !f.rows.Next() {
		if err := f.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := f.rows.Scan(dest...); err != nil {
		return err
	}
	f.rows.Close()
	return f.rows.Err()
}
