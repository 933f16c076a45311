package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/benchmarks/internal/rival"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// BenchmarkRelayDrain measures how fast a backlog goes from Postgres to Kafka:
// leat's relay, Watermill's forwarder, and a producer that has the records in
// memory (of the last one, x-raw is the part that leat reaches). The producer also
// sends them without headers, which is how producers are usually measured: that tells
// whether it has been hobbled.
func BenchmarkRelayDrain(b *testing.B) {
	b.Run("broker=kafka", func(b *testing.B) {
		drain(b, testenv.RealKafka(b), scale(b).drain)
	})
	b.Run("broker=kfake", func(b *testing.B) {
		drain(b, testenv.Fake(b), scale(b).drainFake)
	})
}

// drainSize is how much a drain carries.
type drainSize struct {
	messages, forwarder, rounds int
}

func drain(b *testing.B, broker *testenv.KafkaEnv, size drainSize) {
	b.Helper()
	const partitions, payload, keys = 8, 512, 10_000
	db := testenv.Postgres(b, migrated())
	logSettings(b, db, broker)
	topic := broker.Topic(b, "drain", partitions)
	messages, err := load.Messages(load.Spec{Messages: size.messages, Bytes: payload, Keys: keys, Topic: topic})
	require.NoError(b, err)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	fill(b, db, ob, messages)
	fwd := rival.NewForwarder(db.Pool, broker.Brokers, rival.BestForwarder())
	require.NoError(b, fwd.Fill(b.Context(), messages[:size.forwarder]))
	_, err = db.Pool.Exec(b.Context(), "VACUUM ANALYZE")
	require.NoError(b, err)

	raw, err := rival.NewRaw(broker.Brokers)
	require.NoError(b, err)
	b.Cleanup(raw.Close)
	records := rival.KafkaRecords(topic, messages, time.Now())
	headerless := rival.WithoutHeaders(records)
	warm(b, raw, records)
	require.NoError(b, forgetFake(b.Context(), broker, topic))

	var cpu processorUse
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", forgetting(b, broker, topic,
		cpu.of(compare.Contender{Name: "leat", Ops: size.messages, Run: func(round int) (time.Duration, error) {
			return drainLeat(b.Context(), ob, broker.Brokers, fmt.Sprintf("%s-%d", b.Name(), round), size.messages)
		}}),
		cpu.of(compare.Contender{Name: "raw", Ops: size.messages, Run: produceAll(b, raw, records)}),
		cpu.of(compare.Contender{Name: "headerless", Ops: size.messages, Run: produceAll(b, raw, headerless)}),
		cpu.of(compare.Contender{Name: "forwarder", Ops: size.forwarder, Run: func(round int) (time.Duration, error) {
			return fwd.Drain(b.Context(), fmt.Sprintf("group-%d", round), size.forwarder)
		}}),
	)...)
	b.StopTimer()
	cpu.report(b)
}

// forgetting has the broker in this process lose what a contender has sent, which would
// be garbage collector's work for all that come after it.
func forgetting(b *testing.B, broker *testenv.KafkaEnv, topic string, contenders ...compare.Contender) []compare.Contender {
	b.Helper()
	for i, c := range contenders {
		contenders[i].Run = func(round int) (time.Duration, error) {
			took, err := c.Run(round)
			return took, errors.Join(err, forgetFake(b.Context(), broker, topic))
		}
	}
	return contenders
}

// forgetFake deletes what the topic has, where the broker is in this process.
func forgetFake(ctx context.Context, broker *testenv.KafkaEnv, topic string) error {
	if broker.Real {
		return nil
	}
	if err := forget(ctx, broker.Brokers, topic); err != nil {
		return err
	}
	runtime.GC()
	return nil
}

// produceAll sends records that are in memory.
func produceAll(b *testing.B, raw *rival.Raw, records []kgo.Record) func(int) (time.Duration, error) {
	b.Helper()
	return func(int) (time.Duration, error) {
		began := time.Now()
		err := raw.Produce(b.Context(), records)
		return time.Since(began), err
	}
}

// drainLeat relays the whole outbox as a group that starts at the oldest
// message, from making the relay and the sink to closing them.
func drainLeat(
	ctx context.Context, ob *pgoutbox.Outbox, brokers []string, group string, want int, hooks ...outbox.Hook,
) (time.Duration, error) {
	return drainWith(ctx, ob, brokers, group, want, relay.Config{Hooks: hooks})
}

// drainWith is drainLeat with a configuration of the relay.
func drainWith(
	ctx context.Context, ob *pgoutbox.Outbox, brokers []string, group string, want int, cfg relay.Config,
) (time.Duration, error) {
	began := time.Now()
	r, sink, err := openRelay(ob, brokers, group, cfg)
	if err != nil {
		return 0, err
	}
	defer func() { _ = sink.Close() }() // it always returns nil
	got, err := r.RunOnce(ctx)
	if err == nil && got != want {
		err = fmt.Errorf("relayed %d messages, want %d", got, want)
	}
	return time.Since(began), err
}

// fill enqueues messages, a thousand a transaction.
func fill(b *testing.B, db *testenv.Database, ob *pgoutbox.Outbox, messages []outbox.Message) {
	b.Helper()
	began := time.Now()
	const chunk = 1000
	for at := 0; at < len(messages); at += chunk {
		part := messages[at:min(at+chunk, len(messages))]
		err := pgx.BeginFunc(b.Context(), db.Pool, func(tx pgx.Tx) error {
			return ob.Enqueue(b.Context(), tx, part...)
		})
		require.NoError(b, err)
	}
	b.Logf("filled with %d messages in %s", len(messages), time.Since(began).Round(time.Millisecond))
}

// warm lets a broker that has just started see some load: its Java runtime compiles what
// it does often, and that is batches and not records.
func warm(b *testing.B, raw *rival.Raw, records []kgo.Record) {
	b.Helper()
	enough := 2_000_000
	if *scaleName == scaleCI {
		enough = 200_000
	}
	for sent := 0; sent < enough; sent += len(records) {
		require.NoError(b, raw.Produce(b.Context(), records))
	}
}
