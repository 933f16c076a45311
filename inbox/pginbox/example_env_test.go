package pginbox_test

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// onDatabase runs an example on a database of its own, with an inbox and a table
// of points.
func onDatabase(run func(ctx context.Context, pool *pgxpool.Pool) error) error {
	return testenv.OnDatabase(`CREATE TABLE points (customer text, points int)`, func(ctx context.Context, pool *pgxpool.Pool) error {
		in, err := pginbox.New(pool, "migrator", pginbox.Config{})
		if err != nil {
			return err
		}
		if err := in.Migrate(ctx); err != nil {
			return err
		}
		return run(ctx, pool)
	})
}
