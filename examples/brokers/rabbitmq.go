// Package brokers relays to brokers other than Kafka. It is the code of docs/recipes.md; a
// test compares the two.
package brokers

import (
	"context"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox/amqpsink"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// RabbitMQ relays source to the exchange events, with the topics as routing keys, until ctx
// ends.
func RabbitMQ(ctx context.Context, source driver.Source, uri string) error {
	sink, err := amqpsink.New([]string{uri}, amqpsink.Config{Exchange: "events"})
	if err != nil {
		return err
	}
	defer func() { _ = sink.Close() }() // it always returns nil
	if err := sink.Check(ctx); err != nil {
		return err // no broker, no right to log in, no exchange
	}
	r, err := relay.New(source, sink, relay.Config{})
	if err != nil {
		return err
	}
	return r.Run(ctx)
}

// FromRabbitMQ returns a subscriber whose topics are durable queues. It reads messages with headers of
// any type, such as those that RabbitMQ has dead-lettered.
func FromRabbitMQ(uri string, logger watermill.LoggerAdapter) (message.Subscriber, error) {
	config := amqp.NewDurableQueueConfig(uri)
	config.Marshaler = amqpsink.Marshaler{}
	return amqp.NewSubscriber(config, logger)
}
