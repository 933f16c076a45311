package sinks_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/wmforward"
)

// BenchmarkDrain sends a backlog of 20,000 messages of 512 bytes to Kafka, once
// with Watermill's forwarder and once with a relay. Repeat it with
//
//	go test -bench Drain -benchtime 1x -run '^$' ./internal/proof/kafkatest/sinks
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
			stop := startForwarder(b, db, pub)
			require.Eventually(b, func() bool { return position(b, db) == backlog }, 5*time.Minute, 10*time.Millisecond)
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
			src, err := wmforward.New(db.Pool, wmforward.Config{})
			require.NoError(b, err)
			require.NoError(b, src.Migrate(b.Context()))
			r, err := relay.New(src, sink, relay.Config{})
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
	db := testenv.Postgres(b)
	initialize(b, db)
	for range n / 100 {
		msgs := make([]*message.Message, 100)
		for i := range msgs {
			msgs[i] = message.NewMessage(watermill.NewUUID(), []byte(strings.Repeat("x", 512)))
		}
		require.NoError(b, pgx.BeginFunc(b.Context(), db.Pool, func(tx pgx.Tx) error { return publish(tx, topic, msgs...) }))
	}
	_, err := db.Pool.Exec(b.Context(), "VACUUM ANALYZE watermill_forwarder_topic")
	require.NoError(b, err)
	return db, env
}

// position returns how many rows the forwarder's stored position has behind it.
func position(b *testing.B, db *testenv.Database) (rows int) {
	b.Helper()
	require.NoError(b, db.Pool.QueryRow(b.Context(), `SELECT count(*) FROM watermill_forwarder_topic m, watermill_offsets_forwarder_topic o
		WHERE (m.transaction_id, m."offset") <= (o.last_processed_transaction_id, o.offset_acked)`).Scan(&rows))
	return rows
}
