package pgwindow_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

//leat:level 1
func TestMain(m *testing.M) {
	testenv.Main(m)
}

// migrated is a database with the outbox's log in it, the one user of this
// package.
func migrated() testenv.Template {
	return testenv.Template{Name: "pgoutbox", Version: testenv.VersionOf(pgoutbox.Migrations(pgoutbox.Config{})), Apply: migrate}
}

func migrate(ctx context.Context, url string) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	return ob.Migrate(ctx)
}

func prepared(t *testing.T) *pgwindow.Statements {
	t.Helper()
	st, err := pgwindow.Prepare(ours())
	require.NoError(t, err)
	return st
}

func preparedLeases(t *testing.T) *pglease.Statements {
	t.Helper()
	leases, err := pglease.Prepare(ours())
	require.NoError(t, err)
	return leases
}

// newLog returns a database of the test's own with an empty log.
func newLog(t *testing.T) *testenv.Database {
	t.Helper()
	return testenv.Postgres(t, migrated())
}
