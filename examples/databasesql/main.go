// Command databasesql is for services on database/sql. They keep their *sql.DB
// and their *sql.Tx, opened with pgx's driver; only the outbox and the relay know
// the pool beneath.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/leat-go/leat/examples/internal/servers"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

const tables = `
	CREATE TABLE orders  (id text PRIMARY KEY, cents bigint NOT NULL CHECK (cents > 0));
	CREATE TABLE loyalty (order_id text NOT NULL, message_id text NOT NULL)`

func main() {
	servers.Supervise()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "databasesql:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	s, err := servers.Start(ctx, "databasesql")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	topic, err := s.CreateTopic(ctx, "orders")
	if err != nil {
		return err
	}

	db := stdlib.OpenDBFromPool(s.Pool) // or sql.Open("pgx", url) and a pool for the outbox
	defer func() { err = errors.Join(err, db.Close()) }()
	ob, err := pgoutbox.New(s.Pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	in, err := pginbox.NewSQL(db, "loyalty", pginbox.Config{})
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, tables)
	if err := errors.Join(err, ob.Migrate(ctx), in.Migrate(ctx)); err != nil {
		return err
	}

	if err := placeOrder(ctx, db, ob, topic, "o-1", 1999); err != nil {
		return err
	}
	if err := placeOrder(ctx, db, ob, topic, "o-2", -1); err != nil {
		fmt.Println("o-2 sends nothing:", err)
	}
	if err := s.Relay(ctx, ob, topic); err != nil { // a service runs one: see ../pgx
		return err
	}
	sub, err := s.Subscriber("loyalty")
	if err != nil {
		return err
	}
	return errors.Join(consume(ctx, db, in, sub, topic), sub.Close())
}

// placeOrder writes an order and its event, or neither.
func placeOrder(ctx context.Context, db *sql.DB, ob *pgoutbox.Outbox, topic, id string, cents int64) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit

	if _, err := tx.ExecContext(ctx, `INSERT INTO orders VALUES ($1, $2)`, id, cents); err != nil {
		return err
	}
	err = ob.EnqueueSQL(ctx, tx, outbox.Message{
		Topic: topic, Key: id, Payload: fmt.Appendf(nil, `{"id":%q,"cents":%d}`, id, cents),
	})
	if err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	ob.Wake() // a relay in this process need not poll for it
	return nil
}

// consume handles the first message of topic twice, as Kafka may deliver it.
func consume(ctx context.Context, db *sql.DB, in *pginbox.Inbox, sub message.Subscriber, topic string) error {
	handle := in.Handle(func(ctx context.Context, msg *message.Message) error {
		tx := pginbox.SQLTx(ctx)
		_, err := tx.ExecContext(ctx, `INSERT INTO loyalty VALUES ($1::json->>'id', $2)`, string(msg.Payload), msg.UUID)
		return err
	})
	messages, err := sub.Subscribe(ctx, topic)
	if err != nil {
		return err
	}
	msg, ok := <-messages
	if !ok {
		return context.Cause(ctx)
	}
	if err := errors.Join(handle(msg), handle(msg)); err != nil {
		msg.Nack()
		return err
	}
	msg.Ack()

	var order string
	var bookings int
	err = db.QueryRowContext(ctx, `SELECT min(order_id), count(*) FROM loyalty`).Scan(&order, &bookings)
	fmt.Printf("%s was delivered 2 times and booked %d time\n", order, bookings)
	return err
}
