package benchmarks

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// BenchmarkLatency measures the time from the moment at which a message was due to
// be enqueued to Kafka's acknowledgement, at a steady rate that does not wait for
// slow answers. Beside the usual case: a producer in another process, whose
// commits nobody announces; transactions that have nothing to do with the
// outbox and stay open for the whole time; and no outbox at all. x-… is a case's
// 99th percentile over that of the usual one in the same round, dead-tuples what
// the log has gathered.
func BenchmarkLatency(b *testing.B) {
	size := scale(b).latency
	broker := testenv.RealKafka(b)
	db := testenv.Postgres(b, migrated())
	logSettings(b, db, broker)
	own, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	other, err := pgoutbox.New(db.Pool, pgoutbox.Config{}) // as in another process
	require.NoError(b, err)
	l := &latencies{db: db, broker: broker, topic: broker.Topic(b, "latency", 8), size: size, own: own}
	_, err = l.measure(b, own) // a broker that has just started is slow
	require.NoError(b, err)

	cases := latencyCases(own, other)
	seen := make([][]percentiles, len(cases))
	dead := deadTuples(b, db)
	b.ResetTimer()
	for range b.N * size.rounds {
		for i, c := range cases {
			release := func() {}
			if c.hold != nil {
				release = c.hold(b, db)
			}
			measure := func() (percentiles, error) { return l.measure(b, c.writer) }
			if c.writer == nil {
				measure = func() (percentiles, error) { return l.direct(b) }
			}
			p, err := measure()
			release()
			require.NoError(b, err)
			seen[i] = append(seen[i], p)
		}
	}
	b.StopTimer()
	b.ReportMetric(0, "ns/op")
	for i, c := range cases {
		reportPercentiles(b, c.name, seen[i])
		if i > 0 {
			ratios := compare.Ratios(p99s(seen[i]), p99s(seen[0]))
			b.ReportMetric(compare.Median(ratios), "x-"+c.name)
		}
	}
	gathered := float64(deadTuples(b, db) - dead)
	b.ReportMetric(gathered, "dead-tuples")
	results.Record(b, "", "dead-tuples", gathered)
}

// latencyCase is a load with something beside it. It has no outbox where writer is nil.
type latencyCase struct {
	name   string
	writer *pgoutbox.Outbox
	hold   func(b *testing.B, db *testenv.Database) (release func())
}

// latencyCases begins with the usual one. A quick run has time for those of the gates.
func latencyCases(own, other *pgoutbox.Outbox) []latencyCase {
	wake, foreign := latencyCase{"wake", own, nil}, latencyCase{"foreign", own, holdForeign}
	if *scaleName == scaleQuick {
		return []latencyCase{wake, foreign}
	}
	return []latencyCase{
		wake, {"poll", other, nil}, foreign, {"prepared", own, holdPrepared}, {"handler", own, holdHandler}, {"direct", nil, nil},
	}
}

// deadTuples counts the dead tuples of the log. Positions are another matter: old
// ones are deleted.
func deadTuples(b *testing.B, db *testenv.Database) (n int64) {
	b.Helper()
	require.NoError(b, db.Pool.QueryRow(context.WithoutCancel(b.Context()), `SELECT coalesce(sum(n_dead_tup), 0)
		FROM pg_stat_user_tables WHERE schemaname = 'leat' AND relname ~ '^outbox_(p\d+|tail)$'`).Scan(&n))
	return n
}

// settleFor is how long a segment runs before it counts.
const settleFor = time.Second
