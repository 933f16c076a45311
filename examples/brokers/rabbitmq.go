// Package brokers relays to brokers other than Kafka, through Watermill's publishers. It
// is the code of docs/recipes.md; a test compares the two.
package brokers

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/wmsink"
)

// RabbitMQ relays source to durable queues that are called like the topics, until ctx
// ends.
func RabbitMQ(ctx context.Context, source driver.Source, uri string, logger watermill.LoggerAdapter) error {
	config := amqp.NewDurableQueueConfig(uri)
	config.Publish.ConfirmDelivery = true // otherwise a message counts as sent before the broker has it
	config.Publish.ChannelPoolSize = 16   // a channel for each of the sink's lanes
	config.Connection.Reconnect = amqp.DefaultReconnectConfig()
	config.Connection.Reconnect.BackoffMaxInterval = 2 * time.Second
	publisher, err := amqp.NewPublisher(config, logger) // it needs a logger
	if err != nil {
		return err
	}
	sink, err := wmsink.New(publisher, wmsink.Config{Lanes: 16})
	if err != nil {
		return err
	}
	r, err := relay.New(source, sink, relay.Config{})
	if err != nil {
		return err
	}
	err = r.Run(ctx)
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, sink.Wait(waiting), publisher.Close()) // no message is on its way by then
}
