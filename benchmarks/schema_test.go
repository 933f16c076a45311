package benchmarks

import (
	"context"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// counters is the number of rows that handlers count in.
const counters = 1000

// schemaHash tells databases made from other migrations apart.
func schemaHash() string {
	hash := fnv.New64a()
	for _, pattern := range []string{"../outbox/pgoutbox/migrations/*.sql", "../inbox/internal/pgschema/migrations/*.sql"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return ""
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return ""
			}
			_, _ = hash.Write(text) // it never fails
		}
	}
	return strconv.FormatUint(hash.Sum64(), 36)
}

// migrated is a database with leat's outbox and inbox and the tables that the
// benchmarks write.
func migrated() testenv.Template {
	return testenv.Template{Name: "benchmarks", Version: "3" + schemaHash(), Apply: func(ctx context.Context, url string) error {
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
