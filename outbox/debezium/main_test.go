package debezium_test

import (
	"context"
	"log"
	"testing"

	"github.com/jackc/pgx/v5"
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
		Name: "debezium", Version: testenv.VersionOf(pgoutbox.Migrations(pgoutbox.Config{})),
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

// standardTable is how rows of the standard table are sent by a router with all of its defaults.
func standardTable() adopt.Config {
	return adopt.Config{
		Table: "outbox", ID: "id", Key: "aggregateid", Topic: "'outbox.event.' || NEW.aggregatetype", Payload: "payload",
		Headers: map[string]string{"id": "id"},
	}
}

const insert = `INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) VALUES (gen_random_uuid(), $1, $2, 'paid', '{"a": 1}')`

func begin(t *testing.T, db *testenv.Database) pgx.Tx {
	t.Helper()
	tx, err := db.Pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

func must(t *testing.T, tx pgx.Tx, sql string, args ...any) {
	t.Helper()
	_, err := tx.Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}
