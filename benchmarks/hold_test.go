package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

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

// BenchmarkHeldTransaction measures what a transaction does to a relay that has
// nothing to do with it, has written a row of another table of the same database, and
// stays open for a while: second by second, the 99th percentile of the time from when
// a message was due to Kafka's acknowledgement, dead tuples and the size of tables.
// The load is steady and the same for leat, for Watermill's forwarder with
// watermill-sql's default schema (forwarder), and with its queue schema (queue).
//
// held-… and usual-… are the 99th percentiles of all messages that were due while it
// was open and before, held-msg/s what was delivered meanwhile. Dead-tuples and
// table-KiB are those at the end of it, of all tables of the outbox, log-dead-tuples
// those of the table that has the messages.
func BenchmarkHeldTransaction(b *testing.B) {
	size := scale(b).held
	broker := testenv.RealKafka(b)
	carriers := carriers()
	views := make([][]holdView, len(carriers))
	once := func(c carrier, round int, size heldSize) holdView {
		db := testenv.Postgres(b, migrated())
		defer db.Pool.Close()
		if round == 0 && c.name == carriers[0].name {
			logSettings(b, db, broker)
		}
		topic := broker.Topic(b, fmt.Sprintf("held-%s-%d", c.name, round+1), 8)
		view, err := c.hold(b, db, broker, topic, size)
		require.NoError(b, err, c.name)
		return view
	}
	for _, c := range carriers { // a broker that has just started is slow
		once(c, -1, heldSize{rate: min(size.rate, 100), before: 1, lasting: 1, after: 1})
	}
	b.ResetTimer()
	for round := range b.N * size.rounds {
		for _, i := range compare.Order(round, len(carriers)) {
			views[i] = append(views[i], once(carriers[i], round, size))
		}
	}
	b.StopTimer()
	b.ReportMetric(0, "ns/op")
	for i, c := range carriers {
		reportHold(b, c.name, views[i])
	}
}

// heldSize is messages a second, the seconds before a transaction is opened, while it
// is and after, and rounds.
type heldSize struct {
	rate, before, lasting, after, rounds int
}

func (s heldSize) seconds() int { return s.before + s.lasting + s.after }

// segment is one with a load for all of the seconds.
func (s heldSize) segment() *segment {
	return newSegment(latencySize{rate: s.rate, segment: time.Duration(s.seconds())*time.Second - settleFor})
}

// hold runs the load through a carrier once.
func (c carrier) hold(b *testing.B, db *testenv.Database, broker *testenv.KafkaEnv, topic string, size heldSize) (holdView, error) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	s := size.segment()
	commit, run := c.open(b, db, broker, topic, s)
	var sizes []tableState
	err := countTopic(b, broker, topic).during(b.Context(), len(s.acked), func() error {
		ended, offered := make(chan error, 1), make(chan error, 1)
		s.began = time.Now()
		go func() { ended <- run(ctx) }()
		go func() { offered <- s.produce(ctx, commit) }()
		sizes = c.watch(b, db, s, size)
		err := <-offered
		if err == nil {
			err = s.wait(ended)
		}
		cancel()
		return errors.Join(err, <-ended)
	})
	return holdView{size: size, late: s.latenessBySecond(size.seconds()), arrived: s.arrivedWhile(size), sizes: sizes}, err
}

// watch holds the transaction in its time, and reads the tables every second.
func (c carrier) watch(b *testing.B, db *testenv.Database, s *segment, size heldSize) []tableState {
	b.Helper()
	states := make([]tableState, size.seconds())
	var release func()
	for second := range states {
		switch second {
		case size.before:
			release = holdWriter(b, db)
		case size.before + size.lasting:
			release()
		}
		timer := time.NewTimer(time.Duration(second+1)*time.Second - time.Since(s.began))
		<-timer.C
		states[second] = c.state(b, db)
	}
	return states
}

// tableState is what the tables of a carrier have come to.
type tableState struct {
	dead, logDead, bytes int64
}

// state reads them. A session hands in its counts once a second.
func (c carrier) state(b *testing.B, db *testenv.Database) (s tableState) {
	b.Helper()
	require.NoError(b, db.Pool.QueryRow(b.Context(), `
		SELECT coalesce(sum(n_dead_tup), 0), coalesce(sum(n_dead_tup) FILTER (WHERE relname ~ $2), 0),
		       coalesce(sum(pg_total_relation_size(relid)), 0)
		FROM pg_stat_user_tables WHERE schemaname IN ('leat', 'public') AND relname ~ $1`, c.tables, c.log).
		Scan(&s.dead, &s.logDead, &s.bytes))
	return s
}

// latenessBySecond has how long messages took, in milliseconds, by the second in which
// they were due.
func (s *segment) latenessBySecond(seconds int) [][]float64 {
	late := make([][]float64, seconds)
	for i := range s.acked {
		due := s.due(i)
		second := min(int(due/time.Second), seconds-1)
		late[second] = append(late[second], millis(time.Duration(s.acked[i].Load())-due))
	}
	return late
}

// arrivedWhile counts the messages that arrived while the transaction was open.
func (s *segment) arrivedWhile(size heldSize) (n int) {
	from, to := time.Duration(size.before)*time.Second, time.Duration(size.before+size.lasting)*time.Second
	for i := range s.acked {
		if at := time.Duration(s.acked[i].Load()); from <= at && at < to {
			n++
		}
	}
	return n
}

// holdView is what was seen in a round.
type holdView struct {
	size    heldSize
	late    [][]float64
	arrived int
	sizes   []tableState
}

// p99 of messages that were due in some of the seconds.
func (v holdView) p99(from, to int) float64 {
	return compare.Quantile(slices.Concat(v.late[from:to]...), 0.99)
}

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
