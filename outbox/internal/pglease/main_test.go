package pglease_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

//leat:level 1
func TestMain(m *testing.M) {
	testenv.Main(m)
}

const ttl = time.Minute

// newDatabase returns a database of the test's own with an outbox's leases.
func newDatabase(t *testing.T) *testenv.Database {
	t.Helper()
	return testenv.Postgres(t, testenv.Template{
		Name: "pgoutbox", Version: testenv.VersionOf(pgoutbox.Migrations(pgoutbox.Config{})), Apply: migrate,
	})
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

func prepared(t *testing.T) *pglease.Statements {
	t.Helper()
	st, err := pglease.Prepare(pgmigrate.Names{Schema: "leat", Table: "outbox"})
	require.NoError(t, err)
	return st
}
