package pgoutbox_test

import (
	"context"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/outbox/pgoutbox"
)

// envMaintainer makes this test binary run one round of maintenance. Its value is the address of the
// database.
const envMaintainer = "LEAT_TEST_MAINTAINER_DATABASE"

func maintainerProcess() error {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv(envMaintainer))
	if err != nil {
		return err
	}
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	m, err := pgoutbox.NewMaintenance(ob, atOnce())
	if err != nil {
		return err
	}
	_, err = m.RunOnce(ctx)
	return err
}
