package main

import (
	"context"
	"database/sql"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx", with which the test bench looks

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// postgres is PostgreSQL, through pgx.
type postgres struct{}

func (postgres) ingest(ctx context.Context, s settings) error { return ingest(ctx, s) }

func (postgres) relay(ctx context.Context, s settings) error { return runRelay(ctx, s) }

func (postgres) consume(ctx context.Context, s settings) error { return consume(ctx, s) }

func (postgres) needs() testenv.Needs { return testenv.Needs{Postgres: true} }

// create allows each service the connections that it needs: one a worker, and a few for a
// relay.
func (postgres) create(ctx context.Context, st *stage, name string) (string, error) {
	url, err := st.env.CreateDatabase(ctx, name)
	separator := "?"
	if strings.Contains(url, "?") {
		separator = "&"
	}
	return url + separator + poolSize, err
}

// poolSize is an argument of the pool's, which the server must not see.
const poolSize = "pool_max_conns=12"

func (postgres) migrate(ctx context.Context, address string) error {
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		return err
	}
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	if err := ob.Migrate(ctx); err != nil {
		return err
	}
	in, err := pginbox.New(pool, consumerName, pginbox.Config{})
	if err != nil {
		return err
	}
	return in.Migrate(ctx)
}

func (postgres) open(address string) (*sql.DB, error) {
	return sql.Open("pgx", strings.TrimRight(strings.TrimSuffix(address, poolSize), "?&"))
}

func (postgres) pending(ctx context.Context, db *sql.DB) (left int64, err error) {
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM leat.outbox_pending`).Scan(&left)
	return left, err
}
