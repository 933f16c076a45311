// Command sqlc is for services whose queries come from sqlc. Its Queries and the
// outbox share the transaction; the generated DBTX stays as it is.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/examples/internal/servers"
	"github.com/leat-go/leat/examples/sqlc/db"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

func main() {
	servers.Supervise()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sqlc:", err)
		os.Exit(1)
	}
}

// Store is the usual wrapper around generated queries: a unit of work on the
// queries and, new, on the outbox.
type Store struct {
	pool    *pgxpool.Pool
	queries *db.Queries
	outbox  *pgoutbox.Outbox
}

// Work is what a unit of work may use. It commits as a whole, or not at all.
type Work struct {
	*db.Queries
	// Enqueue stores messages that are sent after the commit.
	Enqueue func(ctx context.Context, msgs ...outbox.Message) error
}

// Do runs fn in one transaction.
func (s *Store) Do(ctx context.Context, fn func(w Work) error) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		return fn(Work{
			Queries: s.queries.WithTx(tx),
			Enqueue: func(ctx context.Context, msgs ...outbox.Message) error {
				return s.outbox.Enqueue(ctx, tx, msgs...)
			},
		})
	})
	if err == nil {
		s.outbox.Wake()
	}
	return err
}

func run(ctx context.Context) (err error) {
	s, err := servers.Start(ctx, "sqlc")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	topic, err := s.CreateTopic(ctx, "orders")
	if err != nil {
		return err
	}

	ob, err := pgoutbox.New(s.Pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	_, err = s.Pool.Exec(ctx, `CREATE TABLE orders (id text PRIMARY KEY, cents bigint NOT NULL CHECK (cents > 0))`)
	if err := errors.Join(err, ob.Migrate(ctx)); err != nil {
		return err
	}
	store := &Store{pool: s.Pool, queries: db.New(s.Pool), outbox: ob}

	for _, arg := range []db.CreateOrderParams{{ID: "o-1", Cents: 1999}, {ID: "o-2", Cents: -1}} {
		if err := placeOrder(ctx, store, topic, arg); err != nil {
			fmt.Println(arg.ID, "sends nothing:", err)
		}
	}
	return s.Relay(ctx, ob, topic) // a service runs one: see the README
}

// placeOrder writes an order and its event, or neither.
func placeOrder(ctx context.Context, store *Store, topic string, arg db.CreateOrderParams) error {
	return store.Do(ctx, func(w Work) error {
		order, err := w.CreateOrder(ctx, arg)
		if err != nil {
			return err
		}
		body, err := json.Marshal(order)
		if err != nil {
			return err
		}
		return w.Enqueue(ctx, outbox.Message{Topic: topic, Key: order.ID, Payload: body})
	})
}
