package pginbox_test

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// onDatabase runs an example on a database of its own, with an inbox and a table
// of points.
func onDatabase(run func(ctx context.Context, pool *pgxpool.Pool) error) (err error) {
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
	if _, err := pool.Exec(ctx, `CREATE TABLE points (customer text, points int)`); err != nil {
		return err
	}
	in, err := pginbox.New(pool, "migrator", pginbox.Config{})
	if err != nil {
		return err
	}
	if err := in.Migrate(ctx); err != nil {
		return err
	}
	return run(ctx, pool)
}
