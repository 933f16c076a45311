package amqpsink_test

import (
	"context"
	"fmt"
	"log/slog"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/amqpsink"
)

func Example() {
	ctx := context.Background()
	// One topic exchange for all: a queue is bound to what it wants, such as orders.Placed or orders.*.
	sink, err := amqpsink.New([]string{"amqp://guest:guest@127.0.0.1:1/"}, amqpsink.Config{
		Exchange:   "events",
		RoutingKey: func(r *outbox.Record) string { return r.Topic + "." + r.Type },
		Logger:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = sink.Close() }()

	// relay.New(source, sink, relay.Config{}) does this, page after page. Here no broker listens.
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

// A queue for each topic, which the sink declares: no migration of the broker, no second tool.
func ExampleConfig_declare() {
	sink, err := amqpsink.New([]string{"amqp://guest:guest@127.0.0.1:1/"}, amqpsink.Config{
		Queues: true,
		Declare: func(channel *amqp.Channel, topic string) error {
			_, err := channel.QueueDeclare(topic, true, false, false, false, amqp.Table{"x-queue-type": "quorum"})
			return err
		},
	})
	fmt.Println(err)
	defer func() { _ = sink.Close() }()

	// Output:
	// <nil>
}
