package servers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"
)

// CreateTopic creates a topic of three partitions for this run and returns its
// full name.
func (s *Servers) CreateTopic(ctx context.Context, name string) (string, error) {
	return s.env.CreateTopic(ctx, name, 3)
}

// Read returns the first n records of topic, ordered by key, per key as they
// arrived.
func (s *Servers) Read(ctx context.Context, topic string, n int) ([]*kgo.Record, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(s.Brokers...),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()

	var records []*kgo.Record
	for len(records) < n {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return nil, fmt.Errorf("read topic %s: %w", topic, err)
		}
		records = append(records, fetches.Records()...)
	}
	slices.SortStableFunc(records, func(a, b *kgo.Record) int {
		return strings.Compare(string(a.Key), string(b.Key))
	})
	return records, nil
}

// Subscriber returns watermill-kafka's subscriber in a consumer group that
// starts at the beginning.
func (s *Servers) Subscriber(group string) (message.Subscriber, error) {
	config := kafka.DefaultSaramaSubscriberConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	return kafka.NewSubscriber(kafka.SubscriberConfig{
		Brokers:               s.Brokers,
		OverwriteSaramaConfig: config,
		ConsumerGroup:         s.Name(group),
	}, nil)
}
