// Command watermillsql is for services that already publish with watermill-sql in their
// transaction. They get one publisher instead of one for each transaction. The messages leave
// through the relay instead of a forwarder, under their own topic and without an envelope.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/examples/internal/servers"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

func main() {
	servers.Supervise()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "watermillsql:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	s, err := servers.Start(ctx, "watermillsql")
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
	publisher, err := wmoutbox.NewPublisher(ob, wmoutbox.Config{})
	if err != nil {
		return err
	}
	_, err = s.Pool.Exec(ctx, `CREATE TABLE orders (id text PRIMARY KEY, cents bigint NOT NULL CHECK (cents > 0))`)
	if err := errors.Join(err, ob.Migrate(ctx)); err != nil {
		return err
	}

	for _, o := range []order{{"o-1", 1999}, {"o-2", -1}, {"o-3", 250}} {
		err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error { return placeOrder(ctx, tx, publisher, topic, o) })
		if err != nil {
			fmt.Println(o.id, "sends nothing:", err)
		}
	}
	return s.Relay(ctx, ob, topic) // a service runs one: see the README
}

type order struct {
	id    string
	cents int64
}

// placeOrder is the existing code of such a service. New are the publisher, which was
// sql.NewPublisher(sql.TxFromPgx(tx), …), the transaction in the message's context, and the key if
// messages must stay in order.
func placeOrder(ctx context.Context, tx pgx.Tx, publisher message.Publisher, topic string, o order) error {
	if _, err := tx.Exec(ctx, `INSERT INTO orders VALUES ($1, $2)`, o.id, o.cents); err != nil {
		return err
	}
	msg := message.NewMessageWithContext(pgoutbox.ContextWithTx(ctx, tx), watermill.NewUUID(), fmt.Appendf(nil, `{"id":%q,"cents":%d}`, o.id, o.cents))
	msg.Metadata.Set(outbox.HeaderKey, o.id)
	return publisher.Publish(topic, msg)
}
