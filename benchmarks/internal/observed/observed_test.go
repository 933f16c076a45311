package observed_test

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/metrics/promleat"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// BenchmarkObserved drains a backlog from PostgreSQL to Kafka with all hooks of a relay and
// its sink, and without, in turns. "kept" is the speed that is left with hooks, by the
// median processor time of this process.
func BenchmarkObserved(b *testing.B) {
	const messages = 20_000
	db, broker := testenv.Postgres(b), testenv.Kafka(b)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	require.NoError(b, ob.Migrate(b.Context()))
	d := &drains{ob: ob, broker: broker, messages: messages}
	fill(b, ob, broker.Topic(b, "observed", 8), messages)
	_, err = db.Pool.Exec(b.Context(), "VACUUM ANALYZE")
	require.NoError(b, err)
	relayHooks, sinkHooks := hooks(b)
	d.drain(b, nil, nil)
	var with, without []float64 // ns a record, of each drain
	turn := func(observed bool) {
		if observed {
			with = append(with, float64(d.drain(b, relayHooks, sinkHooks).Nanoseconds())/messages)
		} else {
			without = append(without, float64(d.drain(b, nil, nil).Nanoseconds())/messages)
		}
	}
	for n := 0; b.Loop(); n++ {
		turn(n%2 == 0) // each is first as often as the other
		turn(n%2 == 1)
	}
	b.ReportMetric(median(without)/median(with), "kept")
	b.ReportMetric(median(with), "observed-ns/record")
	b.ReportMetric(median(without), "relay-ns/record")
}

// median returns the middle one of all.
func median(all []float64) float64 {
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// hooks are those of Prometheus.
func hooks(b *testing.B) (forRelay, forSink []outbox.Hook) {
	b.Helper()
	m, err := promleat.New(prometheus.NewRegistry(), metrics.Config{})
	require.NoError(b, err)
	o, err := m.Outbox("main")
	require.NoError(b, err)
	r, err := o.Relay("default")
	require.NoError(b, err)
	return []outbox.Hook{r}, []outbox.Hook{r}
}

func fill(b *testing.B, ob *pgoutbox.Outbox, topic string, n int) {
	b.Helper()
	all, err := load.Messages(load.Spec{Messages: n, Bytes: 512, Keys: 10_000, Topic: topic})
	require.NoError(b, err)
	for len(all) > 0 {
		some := all[:min(1000, len(all))]
		require.NoError(b, ob.InTx(b.Context(), func(ctx context.Context, tx pgx.Tx) error {
			return ob.Enqueue(ctx, tx, some...)
		}))
		all = all[len(some):]
	}
}

// drains sends the same messages again and again, each time for a new group.
type drains struct {
	ob       *pgoutbox.Outbox
	broker   *testenv.KafkaEnv
	messages int
	done     int
}

// drain returns the processor time of one.
func (d *drains) drain(b *testing.B, forRelay, forSink []outbox.Hook) time.Duration {
	b.Helper()
	d.done++
	source, err := d.ob.Source(pgoutbox.SourceConfig{Group: fmt.Sprintf("g%d", d.done), Start: driver.Start{Oldest: true}})
	require.NoError(b, err)
	sink, err := kafkasink.New(d.broker.Brokers, kafkasink.Config{Hooks: forSink})
	require.NoError(b, err)
	defer sink.Close()
	r, err := relay.New(source, sink, relay.Config{Hooks: forRelay})
	require.NoError(b, err)
	began := processor(b)
	n, err := r.RunOnce(b.Context())
	used := processor(b) - began
	require.NoError(b, err)
	require.Equal(b, d.messages, n)
	return used
}

// processor returns the processor time that this process has used.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
