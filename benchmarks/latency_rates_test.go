package benchmarks

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// BenchmarkLatencyRates measures how long a message takes at several steady rates, one
// message a transaction, which do not wait for slow answers: to Kafka's
// acknowledgement (broker), to the commit of the effect of a consumer behind an inbox
// in another database (effect), and the same where the consumer takes messages in
// batches (batches). Times are from when a message was due, and from when its
// transaction had committed. Where the machine cannot keep up with a rate, msg/s says
// what came of it.
func BenchmarkLatencyRates(b *testing.B) {
	size := scale(b).rates
	broker := testenv.RealKafka(b)
	for _, rate := range size.rates {
		b.Run(fmt.Sprintf("rate=%d", rate), func(b *testing.B) { latencyRate(b, broker, size, rate) })
	}
}

// ratesSize is the rates, how long each is kept up beyond a warm-up, and how often.
type ratesSize struct {
	rates   []int
	segment time.Duration
	rounds  int
}

func latencyRate(b *testing.B, broker *testenv.KafkaEnv, size ratesSize, rate int) {
	b.Helper()
	db, consumer := testenv.Postgres(b, migrated()), testenv.Postgres(b, migrated())
	logSettings(b, db, broker)
	own, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	in, err := pginbox.New(consumer.Pool, "latency", pginbox.Config{})
	require.NoError(b, err)
	l := &latencies{db: db, broker: broker, own: own}
	cases := []journey{
		{name: "broker", run: func(s *segment) error { return l.carry(b.Context(), s, own, s) }},
		{name: "effect", run: func(s *segment) error { return l.toEffects(b, s, in) }, effects: true},
		{name: "batches", run: func(s *segment) error { return l.toBatches(b, s, in) }, effects: true},
	}
	once := func(c journey, round int, size latencySize) spread {
		l.topic = broker.Topic(b, fmt.Sprintf("rate-%d-%s-%d", rate, c.name, round+1), 8)
		s := newSegment(size)
		require.NoError(b, c.run(s), c.name)
		if c.effects {
			requireEachEffect(b, consumer, len(s.acked))
		}
		return spreadOf(s)
	}
	for _, c := range cases { // connections, statements, and a broker that has just started
		once(c, -1, latencySize{rate: min(rate, 100), segment: time.Second})
	}
	b.ResetTimer()
	for round := range b.N * size.rounds {
		for _, at := range compare.Order(round, len(cases)) {
			cases[at].seen = append(cases[at].seen, once(cases[at], round, latencySize{rate: rate, segment: size.segment}))
		}
	}
	b.StopTimer()
	b.ReportMetric(0, "ns/op")
	for _, c := range cases {
		reportSpreads(b, c.name, c.seen)
	}
}

// journey is a way that messages go.
type journey struct {
	name    string
	run     func(s *segment) error
	effects bool
	seen    []spread
}

// toEffects carries a segment to a consumer of single messages.
func (l *latencies) toEffects(b *testing.B, s *segment, in *pginbox.Inbox) error {
	b.Helper()
	handle := in.Handle(inTx(insertEffect))
	stop, err := consume(b.Context(), l.broker.Brokers, l.topic, l.topic, func(msg *message.Message) error {
		err := handle(msg)
		if err == nil {
			s.arrive(msg.Payload)
		}
		return err
	})
	require.NoError(b, err)
	defer func() { require.NoError(b, stop()) }()
	return l.carry(b.Context(), s, l.own)
}

// toBatches carries it to one of batches.
func (l *latencies) toBatches(b *testing.B, s *segment, in *pginbox.Inbox) error {
	b.Helper()
	batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
	require.NoError(b, err)
	handle := batch.Handle(inTx(insertEffects))
	stop, err := consumeBatches(b.Context(), l.broker.Brokers, l.topic, l.topic, func(ctx context.Context, msgs []*message.Message) []error {
		errs := handle(ctx, msgs)
		for i, msg := range msgs {
			if len(errs) == 0 || errs[i] == nil {
				s.arrive(msg.Payload)
			}
		}
		return errs
	})
	require.NoError(b, err)
	defer func() { require.NoError(b, stop()) }()
	return l.carry(b.Context(), s, l.own)
}

// requireEachEffect makes sure that there is one effect of each message, and forgets
// them.
func requireEachEffect(b *testing.B, db *testenv.Database, want int) {
	b.Helper()
	var rows, messages int
	require.NoError(b, db.Pool.QueryRow(b.Context(), "SELECT count(*), count(DISTINCT message) FROM effects").Scan(&rows, &messages))
	require.Equal(b, want, rows, "effects")
	require.Equal(b, want, messages, "messages that have an effect")
	_, err := db.Pool.Exec(b.Context(), "TRUNCATE effects")
	require.NoError(b, err)
}

// spread is how the times of a segment are spread, by unit, and the rate that came of
// it.
type spread map[string]float64

func spreadOf(s *segment) spread {
	whole, commit := s.times()
	seen := spread{"msg/s": s.reached()}
	for name, values := range map[string][]float64{"": whole, "commit-": commit} {
		for _, percent := range []float64{50, 95, 99} {
			seen[fmt.Sprintf("%sp%g-ms", name, percent)] = compare.Quantile(values, percent/100)
		}
		seen[name+"max-ms"] = slices.Max(values)
	}
	return seen
}

// reached is the rate at which the messages have arrived.
func (s *segment) reached() float64 {
	var last time.Duration
	for i := range s.acked {
		last = max(last, time.Duration(s.acked[i].Load()))
	}
	return float64(len(s.acked)) / last.Seconds()
}

// spreadUnits are the units of a spread, in the order of the page.
func spreadUnits() []string {
	return []string{
		"p50-ms", "p95-ms", "p99-ms", "max-ms", "commit-p50-ms", "commit-p95-ms", "commit-p99-ms", "commit-max-ms", "msg/s",
	}
}

// reportSpreads records those of all rounds and reports their medians.
func reportSpreads(b *testing.B, name string, seen []spread) {
	b.Helper()
	for _, unit := range spreadUnits() {
		values := make([]float64, len(seen))
		for round := range seen {
			values[round] = seen[round][unit]
		}
		results.Record(b, name, unit, values...)
		b.ReportMetric(compare.Median(values), name+"-"+unit)
	}
}
