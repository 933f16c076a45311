package natssink_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/natssink"
	"github.com/leat-go/leat/outbox/relay"
)

func ExampleNew() {
	run := func(ctx context.Context, source driver.Source) error {
		sink, err := natssink.New("nats://127.0.0.1:4222", natssink.Config{})
		if err != nil {
			return err
		}
		defer func() { _ = sink.Close() }()
		r, err := relay.New(source, sink, relay.Config{})
		if err != nil {
			return err
		}
		return r.Run(ctx)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop() // at once: here is nothing to relay
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run(ctx, ob.Source(memoutbox.SourceConfig{})))

	// Output:
	// <nil>
}

func Example() {
	ctx := context.Background()
	sink, err := natssink.New("nats://127.0.0.1:1", natssink.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = sink.Close() }()

	// relay.New(source, sink, relay.Config{}) does this, page after page. Here no server listens.
	results := sink.Send(ctx, []outbox.Record{
		{Seq: 1, Message: outbox.Message{ID: "1", Topic: "orders", Key: "customer-7", Type: "Placed", Payload: []byte("body")}},
		{Seq: 2, Message: outbox.Message{ID: "2", Topic: "orders", Key: "customer-7", Type: "Shipped", Payload: []byte("body")}},
	})
	for _, r := range results {
		fmt.Println(outbox.KindOf(r.Err))
	}

	// Output:
	// outage
	// not_sent
}
