package testenv

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"
)

// OnDatabase runs an example on a database of its own, in which setUp has been executed:
// an Example has no testing.TB to hand to Postgres. The database is dropped when run
// returns.
func OnDatabase(setUp string, run func(ctx context.Context, pool *pgxpool.Pool) error) (err error) {
	ctx := context.Background()
	env, err := Start(ctx, Needs{Postgres: true})
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
	if _, err := pool.Exec(ctx, setUp); err != nil {
		return err
	}
	return run(ctx, pool)
}
