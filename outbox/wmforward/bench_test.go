package wmforward_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/wmforward"
)

// BenchmarkDrain sends a backlog of 20,000 messages of 512 bytes to Kafka, once
// with Watermill's forwarder and once with a relay. Repeat it with
//
//	go test -bench Drain -benchtime 1x -run '^$' ./outbox/wmforward
func BenchmarkDrain(b *testing.B) {
	if testing.Short() {
		b.Skip("needs PostgreSQL and Kafka")
	}
	const backlog = 20_000
	b.Run("forwarder", func(b *testing.B) {
		for b.Loop() {
			db, env := newBacklog(b, backlog)
			pub, err := kafka.NewPublisher(kafka.PublisherConfig{Brokers: env.Brokers, Marshaler: kafka.DefaultMarshaler{}}, nil)
			require.NoError(b, err)
			began := time.Now()
			stop := startForwarder(b, db, pub, 100)
			awaitPosition(b, db, backlog)
			b.ReportMetric(backlog/time.Since(began).Seconds(), "msg/s")
			stop()
			require.NoError(b, pub.Close())
		}
	})
	b.Run("leat", func(b *testing.B) {
		for b.Loop() {
			db, env := newBacklog(b, backlog)
			sink, err := kafkasink.New(env.Brokers, kafkasink.Config{Format: kafkasink.FormatWatermill})
			require.NoError(b, err)
			r, err := relay.New(newSource(b, db, wmforward.Config{}), sink, relay.Config{})
			require.NoError(b, err)
			began := time.Now()
			n, err := r.RunOnce(b.Context())
			require.NoError(b, err)
			b.ReportMetric(backlog/time.Since(began).Seconds(), "msg/s")
			require.Equal(b, backlog, n)
			require.NoError(b, sink.Close())
		}
	})
}

// newBacklog returns a table with n messages of 512 bytes, as the forwarder's
// publisher writes them, 100 to a transaction.
func newBacklog(b *testing.B, n int) (*testenv.Database, *testenv.KafkaEnv) {
	b.Helper()
	env := testenv.Kafka(b)
	topic := env.Topic(b, "drain", 8)
	db := newDatabase(b)
	for range n / 100 {
		w := begin(b, db)
		publish(b, w.Tx, topic, texts("", slices.Repeat([]string{strings.Repeat("x", 512)}, 100)...)...)
		w.commit()
		require.NoError(b, w.Conn().Close(b.Context()))
	}
	exec(b, db, "VACUUM ANALYZE watermill_forwarder_topic")
	return db, env
}
