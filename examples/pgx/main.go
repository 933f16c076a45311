// Command pgx shows the whole way on pgx. An order and its event are written in
// one transaction, a relay carries the event to Kafka, and a consumer's inbox
// makes its effect happen once although the event is delivered twice.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/examples/internal/servers"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

const tables = `
	CREATE TABLE orders  (id text PRIMARY KEY, cents bigint NOT NULL);
	CREATE TABLE loyalty (order_id text NOT NULL, points bigint NOT NULL)`

func main() {
	servers.Supervise()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgx:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	s, err := servers.Start(ctx, "pgx")
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
	in, err := pginbox.New(s.Pool, "loyalty", pginbox.Config{})
	if err != nil {
		return err
	}
	_, err = s.Pool.Exec(ctx, tables)
	if err := errors.Join(err, ob.Migrate(ctx), in.Migrate(ctx)); err != nil {
		return err
	}

	// The producer: what committed is sent, what rolled back never is.
	if err := placeOrder(ctx, ob, topic, "o-1", 1999); err != nil {
		return err
	}
	if err := placeOrder(ctx, ob, topic, "o-2", 999_999); err != nil {
		fmt.Println("o-2 sends nothing:", err)
	}

	// The relay. A service runs it until it is told to stop, in this process or in
	// another, in as many replicas as it likes.
	ctx, stopRelay := context.WithCancel(ctx)
	defer stopRelay()
	relayed := make(chan error, 1)
	go func() {
		defer stopRelay()
		relayed <- runRelay(ctx, ob, s.Brokers)
	}()

	sub, err := s.Subscriber("loyalty")
	if err == nil {
		err = errors.Join(consume(ctx, s.Pool, in, sub, topic), sub.Close())
	}
	stopRelay()
	return errors.Join(err, <-relayed)
}

// placeOrder writes an order and its event, or neither. InTx wakes the relays of
// this process after the commit; with a transaction of your own, call ob.Wake.
func placeOrder(ctx context.Context, ob *pgoutbox.Outbox, topic, id string, cents int64) error {
	return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO orders VALUES ($1, $2)`, id, cents); err != nil {
			return err
		}
		err := ob.Enqueue(ctx, tx, outbox.Message{
			Topic: topic, Key: id, Type: "order.placed", Payload: fmt.Appendf(nil, `{"id":%q,"cents":%d}`, id, cents),
		})
		if err != nil {
			return err
		}
		return checkLimit(cents) // an error takes both back
	})
}

func checkLimit(cents int64) error {
	if cents > 10_000 {
		return errors.New("more than the customer may spend")
	}
	return nil
}

// runRelay blocks until ctx ends, then waits for what is under way and returns.
func runRelay(ctx context.Context, ob *pgoutbox.Outbox, brokers []string) error {
	source, err := ob.Source(pgoutbox.SourceConfig{})
	if err != nil {
		return err
	}
	sink, err := kafkasink.New(brokers, kafkasink.Config{})
	if err != nil {
		return err
	}
	defer sink.Close()
	r, err := relay.New(source, sink, relay.Config{})
	if err != nil {
		return err
	}
	return r.Run(ctx)
}

// consume handles the first message of topic twice, as Kafka may deliver it.
func consume(ctx context.Context, pool *pgxpool.Pool, in *pginbox.Inbox, sub message.Subscriber, topic string) error {
	handle := in.Handle(func(ctx context.Context, msg *message.Message) error {
		tx := pginbox.Tx(ctx)
		fmt.Printf("handling %s\n", msg.Payload)
		_, err := tx.Exec(ctx, `INSERT INTO loyalty SELECT id, cents / 100 FROM orders WHERE id = $1::json->>'id'`,
			string(msg.Payload))
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
	for range 2 {
		if err := handle(msg); err != nil {
			msg.Nack()
			return err
		}
	}
	msg.Ack()

	var bookings, points int
	err = pool.QueryRow(ctx, `SELECT count(*), sum(points) FROM loyalty`).Scan(&bookings, &points)
	fmt.Printf("delivered 2 times, booked %d time: %d points\n", bookings, points)
	return err
}
