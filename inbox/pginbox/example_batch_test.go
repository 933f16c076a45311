package pginbox_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
)

// Many messages in one transaction. One of them is a copy, and the whole batch is
// delivered twice.
func ExampleTx_batch() {
	err := onDatabase(func(ctx context.Context, pool *pgxpool.Pool) error {
		in, err := pginbox.New(pool, "loyalty", pginbox.Config{})
		if err != nil {
			return err
		}
		batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
		if err != nil {
			return err
		}
		process := batch.Handle(func(ctx context.Context, msgs []*message.Message) error {
			tx := pginbox.Tx(ctx)
			customers := make([]string, len(msgs))
			for i, msg := range msgs {
				customers[i] = string(msg.Payload)
			}
			tag, err := tx.Exec(ctx, `INSERT INTO points SELECT c, 10 FROM unnest($1::text[]) c`, customers)
			fmt.Println(tag)
			return err
		})
		msgs := []*message.Message{
			message.NewMessage("order-1 paid", []byte("alice")),
			message.NewMessage("order-2 paid", []byte("bob")),
			message.NewMessage("order-1 paid", []byte("alice")),
		}
		fmt.Println(process(ctx, msgs))
		fmt.Println(process(ctx, msgs))
		return nil
	})
	fmt.Println(err)
	// Output:
	// INSERT 0 2
	// [<nil> <nil> <nil>]
	// [<nil> <nil> <nil>]
	// <nil>
}

// A message at a time, in one round trip altogether.
func ExampleHandleQueued() {
	err := onDatabase(func(ctx context.Context, pool *pgxpool.Pool) error {
		in, err := pginbox.New(pool, "loyalty", pginbox.Config{})
		if err != nil {
			return err
		}
		handle := pginbox.HandleQueued(in, func(_ context.Context, queue *pgx.Batch, msg *message.Message) error {
			queue.Queue(`INSERT INTO points VALUES ($1, 10)`, string(msg.Payload))
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
	// <nil>
	// <nil>
	// <nil>
	// 10 points
	// <nil>
}
