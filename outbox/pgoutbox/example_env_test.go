package pgoutbox_test

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// onDatabase runs an example on a database of its own, with an orders table and
// an outbox.
func onDatabase(run func(ctx context.Context, pool *pgxpool.Pool, ob *pgoutbox.Outbox) error) (err error) {
	ctx := context.Background()
	env, err := testenv.Start(ctx, testenv.Needs{Postgres: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	url, err := env.CreateDatabase(ctx, "example")
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, "CREATE TABLE orders (id text PRIMARY KEY)"); err != nil {
		return err
	}
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	if err := ob.Migrate(ctx); err != nil {
		return err
	}
	return run(ctx, pool, ob)
}
