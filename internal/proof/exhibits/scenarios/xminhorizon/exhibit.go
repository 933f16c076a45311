// Package xminhorizon shows the effect of a transaction that is unrelated to the messages on the
// subscriber of watermill-sql's default schema for PostgreSQL, and on leat's relay.
package xminhorizon

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
)

// Exhibit returns the cases. In each, three messages are committed while another
// transaction is open.
func Exhibit() exhibit.Exhibit {
	return exhibit.Exhibit{
		Name:    "xminhorizon",
		Subject: "watermill-sql's DefaultPostgreSQLSchema: WHERE transaction_id < pg_snapshot_xmin(pg_current_snapshot())",
		Cases: []exhibit.Case{
			{
				Name:      "a long transaction in another table",
				Incumbent: onWatermillSQL("xmin_table", sameDatabase),
				Expect:    exhibit.Outcome{Late: messages},
				Leat:      onLeat("xmin_table", sameDatabase),
			},
			{
				Name:      "a long transaction in another database",
				Incumbent: onWatermillSQL("xmin_database", otherDatabase),
				Expect:    exhibit.Outcome{Late: messages},
				Leat:      onLeat("xmin_database", otherDatabase),
			},
		},
	}
}

// messages is the number of messages.
const messages = 3

// foreign opens a transaction that has written something, and returns a function
// that ends it.
type foreign func(ctx context.Context, bed *testbed.Testbed) (end func() error, err error)

func sameDatabase(ctx context.Context, bed *testbed.Testbed) (end func() error, err error) {
	return open(ctx, bed.Pool)
}

func otherDatabase(ctx context.Context, bed *testbed.Testbed) (end func() error, err error) {
	pool, err := bed.Database(ctx, "other")
	if err != nil {
		return nil, err
	}
	rollback, err := open(ctx, pool)
	return func() error {
		defer pool.Close()
		return rollback()
	}, err
}

func open(ctx context.Context, pool *pgxpool.Pool) (end func() error, err error) {
	if _, err := pool.Exec(ctx, `CREATE TABLE IF NOT EXISTS reports (note text)`); err != nil {
		return nil, err
	}
	tx, err := pool.Begin(ctx)
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO reports VALUES ('this takes an hour')`)
	return func() error { return tx.Rollback(ctx) }, err
}
