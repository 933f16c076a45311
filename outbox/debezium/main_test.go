package debezium_test

import (
	"context"
	"log"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/testenv"
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
