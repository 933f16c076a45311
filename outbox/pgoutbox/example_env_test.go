package pgoutbox_test

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// onDatabase runs an example on a database of its own, with an orders table and
// an outbox.
func onDatabase(run func(ctx context.Context, pool *pgxpool.Pool, ob *pgoutbox.Outbox) error) error {
	return testenv.OnDatabase("CREATE TABLE orders (id text PRIMARY KEY)", func(ctx context.Context, pool *pgxpool.Pool) error {
		ob, err := pgoutbox.New(pool, pgoutbox.Config{})
		if err != nil {
			return err
		}
		if err := ob.Migrate(ctx); err != nil {
			return err
		}
		return run(ctx, pool, ob)
	})
}
