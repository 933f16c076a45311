package benchmarks

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// BenchmarkSubscriber measures what key-ordered concurrency is worth to a handler
// that waits 5 ms, as one does that asks a database or a service: one topic, read
// with 64 messages in flight, and by watermill-kafka, which has one in flight a
// partition. The clock runs from the first message to the last.
func BenchmarkSubscriber(b *testing.B) {
	for _, partitions := range []int{1, 4} {
		b.Run(fmt.Sprintf("partitions=%d", partitions), func(b *testing.B) { subscriber(b, partitions) })
	}
}

func subscriber(b *testing.B, partitions int) {
	b.Helper()
	size := scale(b).subscriber
	count := size.transactions
	broker := testenv.RealKafka(b)
	results.Uses(b, results.Server{Name: "Apache Kafka", Version: broker.Version})
	topic := broker.Topic(b, "subscriber", partitions)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Brokers...))
	require.NoError(b, err)
	defer client.Close()
	for i := range count {
		r := &kgo.Record{Topic: topic, Key: []byte(strconv.Itoa(i % 1000)), Headers: []kgo.RecordHeader{
			{Key: outbox.HeaderWatermillUUID, Value: []byte(strconv.Itoa(i))},
		}}
		client.Produce(b.Context(), r, nil)
	}
	require.NoError(b, client.Flush(b.Context()))

	leat := func(group string) (message.Subscriber, error) {
		return kafkasource.NewSubscriber(broker.Brokers, group, kafkasource.Config{Concurrency: 64})
	}
	rival := func(group string) (message.Subscriber, error) {
		config := kafka.DefaultSaramaSubscriberConfig()
		config.Consumer.Offsets.Initial = sarama.OffsetOldest
		return kafka.NewSubscriber(kafka.SubscriberConfig{
			Brokers: broker.Brokers, ConsumerGroup: group, Unmarshaler: kafka.DefaultMarshaler{}, OverwriteSaramaConfig: config,
		}, watermill.NopLogger{})
	}
	groups := 0
	run := func(open func(group string) (message.Subscriber, error)) func(int) (time.Duration, error) {
		return func(int) (time.Duration, error) {
			groups++
			sub, err := open(broker.Name("group-" + strconv.Itoa(groups)))
			if err != nil {
				return 0, err
			}
			return handleAll(b.Context(), sub, topic, count)
		}
	}
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s",
		compare.Contender{Name: "leat", Ops: count, Run: run(leat)},
		compare.Contender{Name: "watermill-kafka", Ops: count, Run: run(rival)},
	)
}

// handleAll handles count messages as a Watermill router does, a goroutine a
// message.
func handleAll(ctx context.Context, sub message.Subscriber, topic string, count int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	messages, err := sub.Subscribe(ctx, topic)
	if err != nil {
		return 0, err
	}
	handled := make(chan struct{}, count)
	var began time.Time
	go func() {
		for msg := range messages {
			if began.IsZero() {
				began = time.Now()
			}
			go func() {
				timer := time.NewTimer(5 * time.Millisecond)
				defer timer.Stop()
				<-timer.C
				msg.Ack()
				handled <- struct{}{}
			}()
		}
	}()
	for range count {
		select {
		case <-handled:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	took := time.Since(began)
	return took, sub.Close()
}
