package redissink_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/redissink"
)

func Example() {
	ctx := context.Background()
	sink, err := redissink.New(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}, redissink.Config{
		MaxAge: 7 * 24 * time.Hour, // read or not
		Logger: slog.New(slog.DiscardHandler),
	})
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
