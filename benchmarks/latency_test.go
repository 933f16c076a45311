package benchmarks

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
	for round := range b.N * size.rounds {
		for _, i := range compare.Order(round, len(cases)) { // what one leaves behind is not always the same one's
			c, release := cases[i], func() {}
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

// direct measures the load without an outbox: the message goes to a table without an
// index, and its producer sends it itself when the commit has returned. It is lost
// where the process ends between the two. No relay that waits for commits can be
// faster.
func (l *latencies) direct(b *testing.B) (percentiles, error) {
	b.Helper()
	raw, err := rival.NewRaw(l.broker.Brokers)
	require.NoError(b, err)
	defer raw.Close()
	s := newSegment(l.size)
	s.began = time.Now()
	ended := make(chan error, 1)
	if err := s.produce(b.Context(), func(ctx context.Context, key string, payload []byte) error {
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		msg := outbox.Message{ID: id.String(), Topic: l.topic, Key: key, Payload: bytes.Clone(payload)}
		err = pgx.BeginFunc(ctx, l.db.Pool, func(tx pgx.Tx) error { return insertPlain(ctx, tx, msg) })
		if err != nil {
			return err
		}
		go l.send(ctx, raw, msg, s, ended)
		return nil
	}); err != nil {
		return percentiles{}, err
	}
	if err := s.wait(ended); err != nil {
		return percentiles{}, err
	}
	return s.percentiles(), nil
}

// send sends one message. The first failure goes to ended.
func (l *latencies) send(ctx context.Context, raw *rival.Raw, msg outbox.Message, s *segment, ended chan<- error) {
	if err := raw.Publish(ctx, msg); err != nil {
		select {
		case ended <- err:
		default:
		}
		return
	}
	s.arrive(msg.Payload)
}

// latencies measures segments of a steady load on one topic.
type latencies struct {
	db     *testenv.Database
	broker *testenv.KafkaEnv
	topic  string
	size   latencySize
	own    *pgoutbox.Outbox // the relay's
}

// latencySize is how much a latency benchmark does: messages a second, the length
// of a segment and of a warm-up before the first, rounds of all segments.
type latencySize struct {
	rate    int
	segment time.Duration
	rounds  int
}

// segment is one run of the load. Times are nanoseconds since began; 0: not yet.
// See design 19.3.
type segment struct {
	began     time.Time
	rate      int
	committed []atomic.Int64
	acked     []atomic.Int64
	left      atomic.Int64
	done      chan struct{}
}

var _ relay.SendHook = (*segment)(nil)

func newSegment(size latencySize) *segment {
	n := int((size.segment + settleFor).Seconds() * float64(size.rate))
	s := &segment{
		rate: size.rate, committed: make([]atomic.Int64, n), acked: make([]atomic.Int64, n), done: make(chan struct{}),
	}
	s.left.Store(int64(n))
	return s
}

// due is when message i is to be enqueued.
func (s *segment) due(i int) time.Duration {
	return time.Duration(i) * time.Second / time.Duration(s.rate)
}

// OnRelaySend notes when the sink's answer is there.
func (s *segment) OnRelaySend(_ context.Context, e relay.SendEvent) {
	now := int64(time.Since(s.began))
	for i := range e.Records {
		if e.Results[i].Err == nil {
			s.arrived(int(binary.BigEndian.Uint64(e.Records[i].Payload)), now)
		}
	}
}

// arrived notes when message i was in Kafka, the first time that it is told.
func (s *segment) arrived(i int, now int64) {
	if s.acked[i].CompareAndSwap(0, now) && s.left.Add(-1) == 0 {
		close(s.done)
	}
}

// arrive notes that the message with this payload is where it is to be.
func (s *segment) arrive(payload []byte) {
	s.arrived(int(binary.BigEndian.Uint64(payload)), int64(time.Since(s.began)))
}

// measure relays what writer is given at the rate.
func (l *latencies) measure(b *testing.B, writer *pgoutbox.Outbox) (percentiles, error) {
	b.Helper()
	s := newSegment(l.size)
	if err := l.carry(b.Context(), s, writer, s); err != nil {
		return percentiles{}, err
	}
	return s.percentiles(), nil
}

// carry relays a segment that writer is given, until all of it has arrived. All
// segments are of one relay group, which has nothing left when a segment ends.
func (l *latencies) carry(ctx context.Context, s *segment, writer *pgoutbox.Outbox, hooks ...outbox.Hook) error {
	r, sink, err := openRelay(l.own, l.broker.Brokers, "latency", relay.Config{Hooks: hooks})
	if err != nil {
		return err
	}
	defer func() { _ = sink.Close() }() // it always returns nil
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	s.began = time.Now()
	go func() { ended <- r.Run(ctx) }()
	err = s.produce(ctx, commitTo(writer, l.topic))
	if err == nil {
		err = s.wait(ended)
	}
	stop()
	return errors.Join(err, <-ended)
}

// wait waits until all messages have arrived. Ended tells that what carries them has
// stopped, and is told so again.
func (s *segment) wait(ended chan error) error {
	select {
	case <-s.done:
		return nil
	case end := <-ended:
		ended <- end
		return errors.New("what carries the messages has ended")
	case <-time.After(2 * time.Minute):
		return fmt.Errorf("%d messages were not delivered", s.left.Load())
	}
}

// produce has one message a transaction committed, each at its time or as soon after it
// as one of many clients is free. A payload begins with the number of its message.
func (s *segment) produce(ctx context.Context, commit commitOne) error {
	const clients = 16
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, clients)
	for client := range clients {
		group.Go(func() {
			payload := make([]byte, 512)
			timer := time.NewTimer(0)
			defer timer.Stop()
			for errs[client] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(s.committed) {
					return
				}
				timer.Reset(s.due(i) - time.Since(s.began))
				<-timer.C
				binary.BigEndian.PutUint64(payload, uint64(i))
				errs[client] = commit(ctx, fmt.Sprintf("key-%d", i%1000), payload)
				s.committed[i].Store(int64(time.Since(s.began)))
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// percentiles leaves out what was due while the relay was still starting.
func (s *segment) percentiles() percentiles {
	whole, commit := s.times()
	return percentiles{whole: percentilesOf(whole), commit: percentilesOf(commit)}
}

// times are those of the percentiles, in milliseconds.
func (s *segment) times() (whole, commit []float64) {
	for i := range s.acked {
		due := s.due(i)
		acked := time.Duration(s.acked[i].Load())
		if due < settleFor || acked == 0 {
			continue
		}
		whole = append(whole, millis(acked-due))
		// What is measured can be faster than the answer to the commit.
		commit = append(commit, millis(max(acked-time.Duration(s.committed[i].Load()), 0)))
	}
	return whole, commit
}

func millis(d time.Duration) float64 {
	return float64(d) / float64(time.Millisecond)
}

// The places of the percentiles that are recorded.
const (
	at50 = iota
	at75
	at90
	at95
	at99
	at999
	recorded
)

// percents are their percentages.
func percents() [recorded]float64 {
	return [recorded]float64{at50: 50, at75: 75, at90: 90, at95: 95, at99: 99, at999: 99.9}
}

// percentiles are in milliseconds: from the time at which a message was due, and
// from when its commit had returned.
type percentiles struct {
	whole, commit [recorded]float64
}

func percentilesOf(values []float64) (of [recorded]float64) {
	for i, percent := range percents() {
		of[i] = compare.Quantile(values, percent/100)
	}
	return of
}

// p99s are the 99th percentiles of all rounds, from when messages were due.
func p99s(seen []percentiles) []float64 {
	values := make([]float64, len(seen))
	for round := range seen {
		values[round] = seen[round].whole[at99]
	}
	return values
}

// reportPercentiles records the percentiles of all rounds of a case, and reports the
// medians of the middle one and the 99th.
func reportPercentiles(b *testing.B, name string, seen []percentiles) {
	b.Helper()
	for i, percent := range percents() {
		whole, commit := make([]float64, len(seen)), make([]float64, len(seen))
		for round := range seen {
			whole[round], commit[round] = seen[round].whole[i], seen[round].commit[i]
		}
		unit := fmt.Sprintf("p%g-ms", percent)
		results.Record(b, name, unit, whole...)
		results.Record(b, name, "commit-"+unit, commit...)
		if i == at50 || i == at99 {
			b.ReportMetric(compare.Median(whole), name+"-"+unit)
			b.ReportMetric(compare.Median(commit), name+"-commit-"+unit)
		}
	}
}
