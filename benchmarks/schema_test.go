package benchmarks

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// counters is the number of rows that handlers count in.
const counters = 1000

// migrated is a database with leat's outbox and inbox and the tables that the
// benchmarks write.
func migrated() testenv.Template {
	outbox, inbox := testenv.VersionOf(pgoutbox.Migrations(pgoutbox.Config{})), testenv.VersionOf(pginbox.Migrations(pginbox.Config{}))
	return testenv.Template{Name: "benchmarks", Version: "3" + outbox + inbox, Apply: func(ctx context.Context, url string) error {
		pool, err := pgxpool.New(ctx, url)
		if err != nil {
			return err
		}
		defer pool.Close()
		ob, err := pgoutbox.New(pool, pgoutbox.Config{})
		if err != nil {
			return err
		}
		in, err := pginbox.New(pool, "benchmark", pginbox.Config{})
		if err != nil {
			return err
		}
		if err := ob.Migrate(ctx); err != nil {
			return err
		}
		if err := in.Migrate(ctx); err != nil {
			return err
		}
		if _, err := pool.Exec(ctx, `
			CREATE TABLE effects (message uuid NOT NULL, body bytea NOT NULL);
			CREATE TABLE counters (id int PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 50);
			CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer text NOT NULL, body bytea NOT NULL);
			CREATE TABLE plain (id uuid NOT NULL, topic text NOT NULL, key text, payload bytea NOT NULL)`); err != nil {
			return err
		}
		_, err = pool.Exec(ctx, `INSERT INTO counters SELECT i, 0 FROM generate_series(0, $1::int - 1) i`, counters)
		return err
	}}
}
