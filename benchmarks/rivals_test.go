package benchmarks

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/benchmarks/internal/rival"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// BenchmarkPublisher measures the way from memory to Kafka alone: leat's sink in the
// pages that the relay hands it, franz-go, and watermill-kafka's publisher, called by many
// at once and by one. The last two ask for the acknowledgement of the leader only, as is
// their default.
func BenchmarkPublisher(b *testing.B) {
	size := scale(b).publisher
	broker := testenv.RealKafka(b)
	results.Uses(b, results.Server{Name: "Apache Kafka", Version: broker.Version})
	topic := broker.Topic(b, "publisher", 8)
	messages, err := load.Messages(load.Spec{
		Messages: max(size.fast, size.concurrent, size.serial), Bytes: 512, Keys: 10_000, Topic: topic,
	})
	require.NoError(b, err)
	sink, err := kafkasink.New(broker.Brokers, kafkasink.Config{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, sink.Close()) })
	raw, err := rival.NewRaw(broker.Brokers)
	require.NoError(b, err)
	b.Cleanup(raw.Close)
	records := rival.KafkaRecords(topic, messages[:size.fast], time.Now())
	warmTopic(b, broker, messages)

	watermill := func(name string, cfg rival.PublisherConfig, count int) compare.Contender {
		publisher := newPublisher(b, broker, cfg)
		return compare.Contender{Name: name, Ops: count, Run: func(int) (time.Duration, error) {
			return publisher.Drain(b.Context(), messages[:count])
		}}
	}
	contenders := []compare.Contender{
		{Name: "leat", Ops: size.fast, Run: func(int) (time.Duration, error) {
			return sendPages(b.Context(), sink, messages[:size.fast])
		}},
		{Name: "raw", Ops: size.fast, Run: produceAll(b, raw, records)},
		watermill("watermill-kafka", rival.BestPublisher(), size.concurrent),
		watermill("watermill-kafka-serial", rival.SerialPublisher(), size.serial),
	}
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", arriving(b, broker, topic, contenders)...)
}

func newPublisher(b *testing.B, broker *testenv.KafkaEnv, cfg rival.PublisherConfig) *rival.Publisher {
	b.Helper()
	publisher, err := rival.NewPublisher(broker.Brokers, cfg)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, publisher.Close()) })
	return publisher
}

// sendPages sends messages as the relay does with its defaults, one page after the other.
func sendPages(ctx context.Context, sink *kafkasink.Sink, messages []outbox.Message) (time.Duration, error) {
	const page = 5000
	records := make([]outbox.Record, len(messages))
	for i := range records {
		records[i] = outbox.Record{Message: messages[i], Seq: int64(i), CreatedAt: time.Now()}
	}
	began := time.Now()
	for at := 0; at < len(records); at += page {
		for _, result := range sink.Send(ctx, records[at:min(at+page, len(records))]) {
			if result.Err != nil {
				return 0, fmt.Errorf("send a page: %w", result.Err)
			}
		}
	}
	return time.Since(began), nil
}
