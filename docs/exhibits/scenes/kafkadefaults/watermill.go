package kafkadefaults

import (
	"context"
	"errors"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/stage"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// key is the key of all messages.
const key = "order-1"

func eventsOf(ids ...string) []gallery.Event {
	events := make([]gallery.Event, len(ids))
	for i, id := range ids {
		events[i] = gallery.Event{ID: id, Key: key}
	}
	return events
}

// publish sends messages with watermill-kafka's publisher. A nil config is its
// default.
func publish(s *stage.Stage, topic string, config *sarama.Config, ids ...string) error {
	return publishAs(s, topic, config, nil, ids...)
}

// publishAs does so with a marshaler. A nil one is the default.
func publishAs(s *stage.Stage, topic string, config *sarama.Config, marshaler kafka.Marshaler, ids ...string) error {
	pub, err := kafka.NewPublisher(kafka.PublisherConfig{
		Brokers: s.Brokers, OverwriteSaramaConfig: config, Marshaler: marshaler,
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

// subscriber returns watermill-kafka's subscriber with its defaults, but that a new
// group begins with what is there.
func subscriber(s *stage.Stage, group string) (message.Subscriber, error) {
	config := kafka.DefaultSaramaSubscriberConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	return kafka.NewSubscriber(kafka.SubscriberConfig{
		Brokers: s.Brokers, ConsumerGroup: group, OverwriteSaramaConfig: config,
	}, nil)
}

// enqueue commits messages in one transaction of an outbox.
func enqueue(ctx context.Context, ob *pgoutbox.Outbox, topic string, ids ...string) error {
	return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		for _, id := range ids {
			if err := ob.Enqueue(ctx, tx, outbox.Message{ID: id, Topic: topic, Key: key, Payload: []byte(`{}`)}); err != nil {
				return err
			}
		}
		return nil
	})
}

// send sends messages through an outbox and leat's relay.
func send(ctx context.Context, s *stage.Stage, name, topic string, cfg kafkasink.Config, ids ...string) error {
	ob, err := s.Outbox(ctx, name)
	if err != nil {
		return err
	}
	if err := enqueue(ctx, ob, topic, ids...); err != nil {
		return err
	}
	return s.Carry(ctx, ob, cfg)
}
