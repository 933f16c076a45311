package wmforward_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/wmforward"
)

// The producer publishes through Watermill's forwarder, as before. A relay has taken the
// forwarder's place.
func Example() {
	err := testenv.OnDatabase("", func(ctx context.Context, pool *pgxpool.Pool) error {
		if err := initialized().Apply(ctx, pool.Config().ConnString()); err != nil { // the forwarder's tables
			return err
		}
		source, err := wmforward.New(pool, wmforward.Config{})
		if err != nil {
			return err
		}
		if err := source.Migrate(ctx); err != nil {
			return err
		}
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			return tryPublish(tx, "orders", message.NewMessage("order-1", []byte("placed"))) // forwarder.NewPublisher(…).Publish
		})
		if err != nil {
			return err
		}
		sink, err := relay.Func(func(_ context.Context, r outbox.Record) error { // kafkasink, say
			fmt.Printf("%s %s: %s\n", r.Topic, r.ID, r.Payload)
			return nil
		}, relay.FuncConfig{})
		if err != nil {
			return err
		}
		r, err := relay.New(source, wmforward.Guard(sink), relay.Config{})
		if err != nil {
			return err
		}
		_, err = r.RunOnce(ctx) // a service calls Run
		return err
	})
	fmt.Println(err)
	// Output:
	// orders order-1: placed
	// <nil>
}
