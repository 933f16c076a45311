package testenv

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// poolSize is the number of connections of a test's pool; the shared server has
// room for some twenty such tests at a time.
const poolSize = 16

// cleanupTimeout bounds what a test does after it has ended.
const cleanupTimeout = 90 * time.Second

// poolCloseTimeout bounds the wait for connections that a test still uses.
const poolCloseTimeout = 10 * time.Second

// Database is a test's own database. It is dropped when the test ends, the
// connections to it cut.
type Database struct {
	// Name is the database's name on the server.
	Name string
	// URL is its address, for connections of one's own.
	URL string
	// Pool is closed when the test ends.
	Pool *pgxpool.Pool
	// ServerVersion is the version that the server reports, such as "15.14".
	ServerVersion string
}

// Postgres returns a database of its own, cloned from the templates applied in
// order, or empty without templates. The server is shared with other tests and
// must not be reconfigured or stopped: see [PrivatePostgres] for that.
func Postgres(tb testing.TB, templates ...Template) *Database {
	tb.Helper()
	service := use(tb, KindPostgres)
	ctx := context.Background()

	url, err := shared.CreateDatabase(ctx, tb.Name(), templates...)
	if err != nil {
		tb.Fatal(err)
	}
	db := openDatabase(tb, url)
	db.ServerVersion = service.Version
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
		defer cancel()
		closePool(tb, db.Pool)
		if err := shared.forget(ctx, db.Name); err != nil {
			tb.Errorf("drop the test's database: %v", err)
		}
	})

	return db
}

// closePool closes pool, unless the test keeps one of its connections: a test
// that has failed inside a transaction must not hang for good.
func closePool(tb testing.TB, pool *pgxpool.Pool) {
	tb.Helper()
	closed := make(chan struct{})
	go func() { defer close(closed); pool.Close() }()
	timeout := time.NewTimer(poolCloseTimeout)
	defer timeout.Stop()
	select {
	case <-closed:
	case <-timeout.C:
		tb.Error("the test has not given back all connections of its pool")
	}
}

// openDatabase makes the pool; closing it is left to the caller.
func openDatabase(tb testing.TB, url string) *Database {
	tb.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		tb.Fatal(err)
	}
	config.MaxConns = poolSize
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		tb.Fatal(err)
	}

	return &Database{Name: config.ConnConfig.Database, URL: url, Pool: pool}
}

// SQL returns a database/sql handle on pgx's driver, closed when the test ends.
func (d *Database) SQL(tb testing.TB) *sql.DB {
	tb.Helper()
	config, err := pgx.ParseConfig(d.URL)
	if err != nil {
		tb.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(poolSize)
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close the database handle: %v", err)
		}
	})

	return db
}

// Connect returns a connection outside the pool, closed when the test ends.
func (d *Database) Connect(tb testing.TB) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(context.Background(), d.URL)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		_ = conn.Close(ctx) // the test may have cut it on purpose
	})

	return conn
}
