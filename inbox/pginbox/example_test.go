package pginbox_test

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/middleware"
)

// One handler without a router: in a test on a database, or in a loop over another client's
// messages. The message is delivered three times; the first time the handler fails after it
// has written.
func ExampleInbox() {
	err := onDatabase(func(ctx context.Context, pool *pgxpool.Pool) error {
		in, err := pginbox.New(pool, "loyalty", pginbox.Config{})
		if err != nil {
			return err
		}
		deliveries := 0
		handle := in.Handle(func(ctx context.Context, msg *message.Message) error {
			tx := pginbox.Tx(ctx)
			deliveries++
			if _, err := tx.Exec(ctx, `INSERT INTO points VALUES ($1, 10)`, string(msg.Payload)); err != nil {
				return err
			}
			if deliveries == 1 {
				return context.DeadlineExceeded
			}
			return nil
		})
		for range 3 {
			fmt.Println(handle(message.NewMessage("order-1 paid", []byte("alice"))))
		}
		var points int
		err = pool.QueryRow(ctx, `SELECT sum(points) FROM points`).Scan(&points)
		fmt.Println(points, "points")
		return err
	})
	fmt.Println(err)
	// Output:
	// context deadline exceeded
	// <nil>
	// <nil>
	// 10 points
	// <nil>
}

// brokerDelivery is what a broker's own client hands over: amqp091's Delivery has MessageId and Body,
// kafka-go's Message the id in its header event-id and Value.
type brokerDelivery struct {
	MessageId string //nolint:revive // as amqp091 calls it
	Body      []byte
}

func (d brokerDelivery) Ack(bool) error       { fmt.Println("ack", d.MessageId); return nil }
func (d brokerDelivery) Nack(_, _ bool) error { fmt.Println("nack", d.MessageId); return nil }

// A loop over the deliveries of a broker's own client, without a Watermill subscriber.
func ExampleInbox_loop() {
	deliveries := make(chan brokerDelivery, 2) // channel.ConsumeWithContext(…)
	deliveries <- brokerDelivery{"order-1 paid", []byte("alice")}
	deliveries <- brokerDelivery{"order-1 paid", []byte("alice")} // again
	close(deliveries)
	err := onDatabase(func(ctx context.Context, pool *pgxpool.Pool) error {
		in, err := pginbox.New(pool, "loyalty", pginbox.Config{})
		if err != nil {
			return err
		}
		once := in.Handle(func(ctx context.Context, msg *message.Message) error {
			_, err := pginbox.Tx(ctx).Exec(ctx, `INSERT INTO points VALUES ($1, 10)`, string(msg.Payload))
			return err
		})
		for d := range deliveries {
			if once(message.NewMessageWithContext(ctx, d.MessageId, d.Body)) != nil {
				err = d.Nack(false, true) // delivered again
			} else {
				err = d.Ack(false)
			}
			if err != nil {
				return err
			}
		}
		var points int
		err = pool.QueryRow(ctx, `SELECT sum(points) FROM points`).Scan(&points)
		fmt.Println(points, "points")
		return err
	})
	fmt.Println(err)
	// Output:
	// ack order-1 paid
	// ack order-1 paid
	// 10 points
	// <nil>
}

// The same on database/sql.
func ExampleSQLTx() {
	err := onDatabase(func(ctx context.Context, pool *pgxpool.Pool) error {
		db := stdlib.OpenDBFromPool(pool)
		defer db.Close()
		in, err := pginbox.NewSQL(db, "loyalty", pginbox.Config{})
		if err != nil {
			return err
		}
		handle := in.Handle(func(ctx context.Context, msg *message.Message) error {
			tx := pginbox.SQLTx(ctx)
			_, err := tx.ExecContext(ctx, `INSERT INTO points VALUES ($1, 10)`, string(msg.Payload))
			return err
		})
		for range 3 {
			fmt.Println(handle(message.NewMessage("order-1 paid", []byte("alice"))))
		}
		var points int
		err = db.QueryRowContext(ctx, `SELECT sum(points) FROM points`).Scan(&points)
		fmt.Println(points, "points")
		return err
	})
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// 10 points
	// <nil>
}

// A handler of a Watermill router takes the transaction from the message.
func ExampleTx() {
	err := onDatabase(func(_ context.Context, pool *pgxpool.Pool) error {
		in, err := pginbox.New(pool, "loyalty", pginbox.Config{})
		if err != nil {
			return err
		}
		handler := func(msg *message.Message) ([]*message.Message, error) {
			tx := pginbox.Tx(msg.Context())
			tag, err := tx.Exec(msg.Context(), `INSERT INTO points VALUES ($1, 10)`, string(msg.Payload))
			fmt.Println(tag)
			return nil, err
		}
		once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
		if err != nil {
			return err
		}
		routed := once(handler) // router.AddMiddleware does this
		for range 2 {
			if _, err := routed(message.NewMessage("order-1 paid", []byte("alice"))); err != nil {
				return err
			}
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// INSERT 0 1
	// <nil>
}

// The schema for a migration tool.
func ExampleMigrations() {
	files, err := pginbox.Migrations(pginbox.Config{Schema: "billing"})
	if err != nil {
		fmt.Println(err)
		return
	}
	names, err := fs.Glob(files, "*.sql")
	fmt.Println(names[0], err)
	// Output: 00001_inbox.sql <nil>
}
