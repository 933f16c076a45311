package kafkasink_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// BenchmarkSend delivers pages of 5,000 records of 512 bytes over eight
// partitions. Metric x-raw is its rate as a part of that of a franz-go producer
// that is given the same payloads and keys, without headers, in the same run.
func BenchmarkSend(b *testing.B) {
	if testing.Short() {
		b.Skip("needs Kafka")
	}
	const size = 5000
	env := testenv.Kafka(b)
	topic := env.Topic(b, "bench", 8)
	page := records(topic, size, 1000, 512)
	for i := range page {
		page[i].ID = strings.Repeat("i", 36)
		page[i].Type = "OrderPlaced"
		page[i].Headers = map[string]string{"traceparent": strings.Repeat("t", 55)}
	}
	s, err := kafkasink.New(env.Brokers, kafkasink.Config{})
	require.NoError(b, err)
	defer func() { _ = s.Close() }()
	raw, err := kgo.NewClient(kgo.SeedBrokers(env.Brokers...), kgo.ManualFlushing(), kgo.MaxBufferedRecords(size),
		kgo.ProducerLinger(0), kgo.ProducerBatchMaxBytes(1<<20), kgo.ProducerBatchCompression(kgo.NoCompression()))
	require.NoError(b, err)
	defer raw.Close()

	ours := func(ctx context.Context) error {
		for _, r := range s.Send(ctx, page) {
			if r.Err != nil {
				return r.Err
			}
		}
		return nil
	}
	theirs := func(ctx context.Context) error { return sendRaw(ctx, raw, topic, page) }
	for range 20 { // a broker that has just started is slow
		require.NoError(b, ours(b.Context()))
		require.NoError(b, theirs(b.Context()))
	}
	b.ReportAllocs()
	var mine, other time.Duration
	for b.Loop() {
		began := time.Now()
		require.NoError(b, ours(b.Context()))
		middle := time.Now()
		require.NoError(b, theirs(b.Context()))
		mine, other = mine+middle.Sub(began), other+time.Since(middle)
	}
	b.ReportMetric(float64(size*b.N)/mine.Seconds(), "msg/s")
	b.ReportMetric(float64(other)/float64(mine), "x-raw")
}

func sendRaw(ctx context.Context, client *kgo.Client, topic string, page []outbox.Record) error {
	out := make([]kgo.Record, len(page))
	var first error
	for i := range page {
		out[i] = kgo.Record{Topic: topic, Key: []byte(page[i].Key), Value: page[i].Payload}
		client.Produce(ctx, &out[i], func(_ *kgo.Record, err error) {
			if first == nil {
				first = err
			}
		})
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	return first
}
