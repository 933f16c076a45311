package benchmarks

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/benchmarks/internal/rival"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// BenchmarkRivalsDrain measures how fast a backlog goes from Postgres to Kafka through
// what Go programs use instead of leat: Watermill's forwarder with its queue schema, jobs
// of river, and the relay of the articles. The rivals' tables are emptied, filled and
// vacuumed before each round, and the clock does not run meanwhile; leat's backlog is
// read again by a new group. Watermill-kafka's publisher has no database behind it, and
// is a bound of the forwarder.
func BenchmarkRivalsDrain(b *testing.B) {
	size := scale(b).rivals
	broker := testenv.RealKafka(b)
	db := testenv.Postgres(b, migrated())
	logSettings(b, db, broker)
	topic := broker.Topic(b, "rivals", 8)
	messages, err := load.Messages(load.Spec{
		Messages: max(size.fast, size.concurrent, size.serial), Bytes: 512, Keys: 10_000, Topic: topic,
	})
	require.NoError(b, err)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	fill(b, db, ob, messages[:size.fast])
	_, err = db.Pool.Exec(b.Context(), "VACUUM ANALYZE")
	require.NoError(b, err)
	publisher := newPublisher(b, broker, rival.BestPublisher())
	warmTopic(b, broker, messages)

	contenders := []compare.Contender{
		{Name: "leat", Ops: size.fast, Run: func(round int) (time.Duration, error) {
			return drainLeat(b.Context(), ob, broker.Brokers, fmt.Sprintf("%s-%d", b.Name(), round), size.fast)
		}},
		{Name: "forwarder-queue", Ops: size.serial, Run: refilled(b.Context(), forwarderQueue{
			rival.NewForwarder(db.Pool, broker.Brokers, rival.BestForwarderQueue()),
		}, messages[:size.serial])},
		{Name: "river", Ops: size.concurrent, Run: refilled(b.Context(),
			rival.NewRiver(db.Pool, broker.Brokers, rival.BestRiver()), messages[:size.concurrent])},
		{Name: "skiplocked", Ops: size.concurrent, Run: refilled(b.Context(),
			rival.NewSkipLocked(db.Pool, broker.Brokers, rival.BestSkipLocked()), messages[:size.concurrent])},
		{Name: "watermill-kafka", Ops: size.concurrent, Run: func(int) (time.Duration, error) {
			return publisher.Drain(b.Context(), messages[:size.concurrent])
		}},
	}
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", arriving(b, broker, topic, contenders)...)
}

// rivalsSize is how much the rivals carry, of those that send many messages at once from
// memory or by pages, of those that send some at once, and of those that send one after
// the other.
type rivalsSize struct {
	fast, concurrent, serial, rounds int
}

// refillable is a rival whose table is filled again before each round.
type refillable interface {
	// Fill leaves the messages in the table, and nothing else.
	Fill(ctx context.Context, messages []outbox.Message) error
	// Drain publishes count messages.
	Drain(ctx context.Context, count int) (time.Duration, error)
}

// refilled fills and drains. What is returned is how long it took to drain.
func refilled(ctx context.Context, r refillable, messages []outbox.Message) func(int) (time.Duration, error) {
	return func(int) (time.Duration, error) {
		if err := r.Fill(ctx, messages); err != nil {
			return 0, err
		}
		return r.Drain(ctx, len(messages))
	}
}

// forwarderQueue is a forwarder whose schema has no consumer groups.
type forwarderQueue struct {
	forwarder *rival.Forwarder
}

func (f forwarderQueue) Fill(ctx context.Context, messages []outbox.Message) error {
	return f.forwarder.Refill(ctx, messages)
}

func (f forwarderQueue) Drain(ctx context.Context, count int) (time.Duration, error) {
	return f.forwarder.Drain(ctx, "", count)
}

// warmTopic lets a broker that has just started see some load, where figures count.
func warmTopic(b *testing.B, broker *testenv.KafkaEnv, messages []outbox.Message) {
	b.Helper()
	if *scaleName == scaleCI {
		return
	}
	raw, err := rival.NewRaw(broker.Brokers)
	require.NoError(b, err)
	defer raw.Close()
	warm(b, raw, rival.KafkaRecords(messages[0].Topic, messages, time.Now()))
}
