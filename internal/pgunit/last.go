package pgunit

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// last is a statement that goes with COMMIT and whose result is not needed.
type last struct {
	sql     string
	args    []any
	explain func(error) error
}

var _ Kept = (*last)(nil)

// Last runs a statement in tx. If no statement follows, it goes with COMMIT. explain is given its
// error, or that of COMMIT.
func Last(ctx context.Context, tx pgx.Tx, explain func(error) error, sql string, args ...any) error {
	l := &last{sql: sql, args: args, explain: explain}
	if u := Of(tx); u != nil && u.Takes() {
		u.Keep(l)
		return nil
	}
	return explain(l.Write(ctx, tx))
}

// MayRead implements Kept: no reading statement follows.
func (*last) MayRead(string) bool { return false }

// Whole implements Kept.
func (*last) Whole(*pgx.Conn) bool { return true }

// Queue implements Kept.
func (l *last) Queue(_ context.Context, _ *pgx.Conn, b *pgx.Batch) (done func(error) error, err error) {
	b.Queue(l.sql, l.args...)
	return l.explain, nil
}

// Write implements Kept.
func (l *last) Write(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, l.sql, l.args...)
	return err
}

// Waits implements Kept.
func (*last) Waits(context.Context, *pgx.Conn) bool { return false }
