package benchmarks

import (
	"context"
	"fmt"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/benchmarks/internal/rival"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// carrier is an outbox with its relay. Tables and log are patterns of the names of its
// tables, and of that of the messages.
type carrier struct {
	name, tables, log string
	// open returns what commits a message, and what relays until its context ends and
	// tells s what has arrived.
	open func(b *testing.B, db *testenv.Database, broker *testenv.KafkaEnv, topic string, s *segment) (commitOne, runner)
}

type runner = func(ctx context.Context) error

func carriers() []carrier {
	return []carrier{
		{name: "leat", tables: "^outbox", log: `^outbox_(p\d+|tail)$`, open: openLeat},
		{name: "forwarder", tables: "^watermill_", log: "^watermill_forwarder$", open: openForwarder(rival.BestForwarder(), "held")},
		{name: "queue", tables: "^watermill_", log: "^watermill_forwarder$", open: openForwarder(rival.BestForwarderQueue(), "")},
	}
}

func openLeat(b *testing.B, db *testenv.Database, broker *testenv.KafkaEnv, topic string, s *segment) (commitOne, runner) {
	b.Helper()
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	return commitTo(ob, topic), func(ctx context.Context) error {
		r, sink, err := openRelay(ob, broker.Brokers, "held", relay.Config{Hooks: []outbox.Hook{s}})
		if err != nil {
			return err
		}
		defer func() { _ = sink.Close() }() // it always returns nil
		return r.Run(ctx)
	}
}

func openForwarder(
	cfg rival.ForwarderConfig, group string,
) func(b *testing.B, db *testenv.Database, broker *testenv.KafkaEnv, topic string, s *segment) (commitOne, runner) {
	return func(b *testing.B, db *testenv.Database, broker *testenv.KafkaEnv, topic string, s *segment) (commitOne, runner) {
		b.Helper()
		fwd := rival.NewForwarder(db.Pool, broker.Brokers, cfg)
		require.NoError(b, fwd.Migrate(b.Context()))
		commit := func(ctx context.Context, key string, payload []byte) error {
			msg := outbox.Message{ID: uuid.NewString(), Topic: topic, Key: key, Payload: payload}
			return pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error { return fwd.Enqueue(ctx, tx, msg) })
		}
		return commit, func(ctx context.Context) error {
			return fwd.Run(ctx, group, func(msg *message.Message) { s.arrive(msg.Payload) })
		}
	}
}

// reportHold records a series for each second, with a value a round, and reports the
// medians of those of the whole time.
func reportHold(b *testing.B, name string, views []holdView) {
	b.Helper()
	of := func(value func(v holdView) float64) []float64 {
		values := make([]float64, len(views))
		for round, v := range views {
			values[round] = value(v)
		}
		return values
	}
	size := views[0].size
	end := size.before + size.lasting
	for _, m := range []struct {
		unit  string
		value func(v holdView) float64
	}{
		{"usual-p99-ms", func(v holdView) float64 { return v.p99(1, size.before) }}, // all of it starts in the first second
		{"held-p99-ms", func(v holdView) float64 { return v.p99(size.before, end) }},
		{"held-msg/s", func(v holdView) float64 { return float64(v.arrived) / float64(size.lasting) }},
		{"dead-tuples", func(v holdView) float64 { return float64(v.sizes[end-1].dead) }},
		{"log-dead-tuples", func(v holdView) float64 { return float64(v.sizes[end-1].logDead) }},
		{"table-KiB", func(v holdView) float64 { return float64(v.sizes[end-1].bytes) / 1024 }},
	} {
		values := of(m.value)
		b.ReportMetric(compare.Median(values), name+"-"+m.unit)
		results.Record(b, name, m.unit, values...)
	}
	for second := range size.seconds() {
		at := func(unit string) string { return fmt.Sprintf("%s,second=%d", unit, second) }
		results.Record(b, name, at("p99-ms"), of(func(v holdView) float64 { return v.p99(second, second+1) })...)
		results.Record(b, name, at("dead-tuples"), of(func(v holdView) float64 { return float64(v.sizes[second].dead) })...)
		results.Record(b, name, at("table-KiB"), of(func(v holdView) float64 { return float64(v.sizes[second].bytes) / 1024 })...)
	}
	results.Record(b, name, "held-from", float64(size.before))
	results.Record(b, name, "held-to", float64(end))
}
