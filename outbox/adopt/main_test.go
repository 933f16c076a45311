package adopt_test

import (
	"context"
	"log"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/adopt"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

//leat:level 1
func TestMain(m *testing.M) {
	if err := testenv.SideBySide(); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}

// migrated is a database with leat's outbox.
func migrated() testenv.Template {
	return testenv.Template{
		Name: "adopt", Version: testenv.VersionOf(pgoutbox.Migrations(pgoutbox.Config{})),
		Apply: func(ctx context.Context, url string) error {
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
		},
	}
}

// standard is Debezium's table as its documentation has it.
const standard = `CREATE TABLE outbox (
	id uuid PRIMARY KEY, aggregatetype varchar(255) NOT NULL, aggregateid varchar(255) NOT NULL,
	type varchar(255) NOT NULL, payload jsonb)`

func exec(t *testing.T, db *testenv.Database, sql string, args ...any) {
	t.Helper()
	_, err := db.Pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// recognized is the table that cfg names, public.outbox by default, with what its columns propose.
func recognized(t *testing.T, db *testenv.Database, cfg adopt.Config) *adopt.Table {
	t.Helper()
	if cfg.Table == "" {
		cfg.Table = "outbox"
	}
	table, err := adopt.New(db.Pool, cfg)
	require.NoError(t, err)
	proposal, _, err := table.Recognize(t.Context())
	require.NoError(t, err)
	table, err = adopt.New(db.Pool, proposal)
	require.NoError(t, err)
	return table
}

// recognizedOr is recognized for a table that may not be there.
func recognizedOr(t *testing.T, db *testenv.Database, cfg adopt.Config) *adopt.Table {
	t.Helper()
	if cfg.Table == "" {
		return recognized(t, db, cfg)
	}
	table, err := adopt.New(db.Pool, cfg)
	require.NoError(t, err)
	return table
}
