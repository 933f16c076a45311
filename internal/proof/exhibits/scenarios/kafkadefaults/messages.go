package kafkadefaults

import (
	"context"
	"errors"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// key is the key of all messages.
const key = "order-1"

func eventsOf(ids ...string) []exhibit.Event {
	events := make([]exhibit.Event, len(ids))
	for i, id := range ids {
		events[i] = exhibit.Event{ID: id, Key: key}
	}
	return events
}

// publish sends messages with watermill-kafka's publisher. A nil config is its default.
func publish(bed *testbed.Testbed, topic string, config *sarama.Config, ids ...string) error {
	return publishAs(bed, topic, config, nil, ids...)
}

// publishAs is publish with a marshaler. A nil one is the default.
func publishAs(bed *testbed.Testbed, topic string, config *sarama.Config, marshaler kafka.Marshaler, ids ...string) error {
	pub, err := kafka.NewPublisher(kafka.PublisherConfig{
		Brokers: bed.Brokers, OverwriteSaramaConfig: config, Marshaler: marshaler,
	}, nil)
	if err != nil {
		return err
	}
	msgs := make([]*message.Message, len(ids))
	for i, id := range ids {
		msgs[i] = message.NewMessage(id, []byte(`{}`))
		msgs[i].Metadata.Set("key", key)
	}
	return errors.Join(pub.Publish(topic, msgs...), pub.Close())
}

// byKey returns the marshaler that watermill-kafka's documentation recommends where
// order matters.
func byKey() kafka.Marshaler {
	return kafka.NewWithPartitioningMarshaler(func(_ string, msg *message.Message) (string, error) {
		return msg.Metadata.Get("key"), nil
	})
}

// subscriber returns watermill-kafka's subscriber with its defaults, except that a new group begins
// with the existing messages.
func subscriber(bed *testbed.Testbed, group string) (message.Subscriber, error) {
	config := kafka.DefaultSaramaSubscriberConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	return kafka.NewSubscriber(kafka.SubscriberConfig{
		Brokers: bed.Brokers, ConsumerGroup: group, OverwriteSaramaConfig: config,
	}, nil)
}

// send sends messages through an outbox and leat's relay.
func send(ctx context.Context, bed *testbed.Testbed, name, topic string, cfg kafkasink.Config, ids ...string) error {
	ob, err := bed.Outbox(ctx, name)
	if err != nil {
		return err
	}
	if err := testbed.Enqueue(ctx, ob, topic, key, ids...); err != nil {
		return err
	}
	return bed.Carry(ctx, ob, cfg)
}
