package pgoutbox_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// Send messages again: here only the orders, to a topic of their own from which a search index is rebuilt.
func ExampleOutbox_History() {
	err := onDatabase(func(ctx context.Context, _ *pgxpool.Pool, ob *pgoutbox.Outbox) error {
		err := ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
			return ob.Enqueue(ctx, tx,
				outbox.Message{Topic: "orders", Key: "o-1", Payload: []byte("placed")},
				outbox.Message{Topic: "mails", Key: "o-1", Payload: []byte("thank you")},
				outbox.Message{Topic: "orders", Key: "o-1", Payload: []byte("paid")},
			)
		})
		if err != nil {
			return err
		}
		history, err := ob.History(pgoutbox.HistoryConfig{Topics: []string{"orders"}})
		if err != nil {
			return err
		}
		report, err := relay.Replay(ctx, history, printSink{}, relay.ReplayConfig{
			Actor: "ann", Reason: "rebuild the search index",
			Topic: func(r *outbox.Record) string { return r.Topic + ".rebuild" },
			Rate:  1000,
		})
		fmt.Println(report.Sent, "records, done:", report.Done)
		return err
	})
	fmt.Println(err)
	// Output:
	// sent orders.rebuild placed
	// sent orders.rebuild paid
	// 2 records, done: true
	// <nil>
}

// A process that only produces wakes the relays of other processes at once.
func ExampleOutbox_RunNotifier() {
	err := onDatabase(func(ctx context.Context, _ *pgxpool.Pool, ob *pgoutbox.Outbox) error {
		ctx, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- ob.RunNotifier(ctx) }()
		err := ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
			return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Payload: []byte("o-1")})
		})
		stop()
		return errors.Join(err, <-ended)
	})
	fmt.Println(err)
	// Output: <nil>
}
