package testbed

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Effects is a table of effects. It has no unique constraint, so that a double effect shows.
type Effects struct {
	pool interface {
		Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	}
	// Insert is the statement that writes an effect; its argument is the message's
	// id.
	Insert string
	table  string
}

// Effects creates a table of effects.
func (bed *Testbed) Effects(ctx context.Context, name string) (*Effects, error) {
	table := pgx.Identifier{"effects_" + name}.Sanitize()
	_, err := bed.Pool.Exec(ctx, `CREATE TABLE `+table+` (n bigserial PRIMARY KEY, id text NOT NULL)`)
	if err != nil {
		return nil, fmt.Errorf("table of effects: %w", err)
	}
	return &Effects{pool: bed.Pool, Insert: `INSERT INTO ` + table + ` (id) VALUES ($1)`, table: table}, nil
}

// Add writes an effect in a separate transaction.
func (e *Effects) Add(ctx context.Context, id string) error {
	_, err := e.pool.Exec(ctx, e.Insert, id)
	return err
}

// IDs returns the messages that took effect, in order.
func (e *Effects) IDs(ctx context.Context) ([]string, error) {
	rows, err := e.pool.Query(ctx, `SELECT id FROM `+e.table+` ORDER BY n`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Has waits until the message called id took effect.
func (e *Effects) Has(ctx context.Context, id string) error {
	return Until(ctx, func(ctx context.Context) (bool, error) {
		rows, err := e.pool.Query(ctx, `SELECT count(*) FROM `+e.table+` WHERE id = $1`, id)
		if err != nil {
			return false, err
		}
		n, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
		return n > 0, err
	})
}
