// Package readme holds the quickstart of the README, so that it compiles. The
// test beside it compares the two.
package readme

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// Publish is the README's section of that name.
func Publish(ctx context.Context, postgresURL, orderID string, total int, body []byte) error {
	pool, err := pgxpool.New(ctx, postgresURL)
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

	// One transaction, two writes: both happen, or neither.
	err = ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO orders (id, total) VALUES ($1, $2)", orderID, total); err != nil {
			return err
		}
		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: orderID, Payload: body})
	})
	return err
}

// Relay is the README's section of that name.
func Relay(ctx context.Context, ob *pgoutbox.Outbox, brokers []string) error {
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
	return r.Run(ctx) // in any process, in any number of replicas; returns when ctx ends
}

// Consume is the README's section of that name.
func Consume(ctx context.Context, pool *pgxpool.Pool, router *message.Router, subscriber message.Subscriber) error {
	in, err := pginbox.New(pool, "loyalty", pginbox.Config{})
	if err != nil {
		return err
	}
	if err := in.Migrate(ctx); err != nil {
		return err
	}

	// An inbox for each handler, by its name. The last line is what an existing router gains.
	once, err := middleware.NewInbox(middleware.InboxConfig{For: in.For})
	if err != nil {
		return err
	}
	router.AddMiddleware(once)

	router.AddConsumerHandler("loyalty", "orders", subscriber, func(msg *message.Message) error {
		tx := pginbox.Tx(msg.Context()) // commits with the message id, or not at all
		_, err := tx.Exec(msg.Context(), "UPDATE points SET total = total + 1")
		return err
	})
	return nil
}
