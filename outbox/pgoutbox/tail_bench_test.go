package pgoutbox_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// tailBench is a way in which a relay learns of commits.
type tailBench struct {
	name string
	tail *pgoutbox.TailConfig
	// ring rings for a commit: nil if nobody does.
	ring func(b *testing.B, relay *pgoutbox.Outbox, db *testenv.Database) func()
}

// BenchmarkTail commits single messages, 200, 1,000 and 5,000 a second, from producers in the relay's
// process, in other processes with a notifier, and from producers that wake no relay. It reports the time
// from the return of COMMIT to the sink and, per message, the processor time of the relay's sessions on
// the server and the relay's statements. If the machine cannot sustain a load, the metric of messages per
// second shows it.
func BenchmarkTail(b *testing.B) {
	if testing.Short() {
		b.Skip("needs PostgreSQL")
	}
	server := logical(b)
	for _, how := range []tailBench{
		{name: "process", ring: func(_ *testing.B, relay *pgoutbox.Outbox, _ *testenv.Database) func() {
			return relay.Wake
		}},
		{name: "notifier", ring: notified},
		{name: "nobody"},
		{name: "tail", tail: &pgoutbox.TailConfig{}},
	} {
		for _, rate := range []int{200, 1000, 5000} {
			b.Run(fmt.Sprintf("%s/rate=%d", how.name, rate), func(b *testing.B) { benchTail(b, server, how, rate) })
		}
	}
}

// notified returns the bell of another process that runs a notifier.
func notified(b *testing.B, _ *pgoutbox.Outbox, db *testenv.Database) func() {
	b.Helper()
	other, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- other.RunNotifier(ctx) }()
	b.Cleanup(func() {
		stop()
		require.NoError(b, <-ended)
	})
	return other.Wake
}

// benchSeconds is the duration of a load.
const benchSeconds = 4

func benchTail(b *testing.B, server *testenv.PostgresServer, how tailBench, rate int) {
	b.Helper()
	ob, db := tailed(b, server)
	queries := &statementCounter{}
	own, err := pgoutbox.New(queries.pool(b, db), pgoutbox.Config{})
	require.NoError(b, err)
	source, err := own.Source(pgoutbox.SourceConfig{Tail: how.tail, Start: driver.Start{Oldest: true}})
	require.NoError(b, err)

	load := newTimedLoad(ob, db, rate)
	if how.ring != nil {
		load.ring = how.ring(b, own, db)
	}
	sink, err := relay.Func(load.arrive, relay.FuncConfig{})
	require.NoError(b, err)
	r, err := relay.New(source, sink, relay.Config{})
	require.NoError(b, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()

	load.produce(b, rate) // a second, in which a tail joins
	first, statements, spent, began := load.sent, queries.n.Load(), relayTicks(b, db), time.Now()
	for b.Loop() {
		load.produce(b, rate*benchSeconds)
	}
	n, seconds := load.sent-first, time.Since(began).Seconds()
	statements, spent = queries.n.Load()-statements, relayTicks(b, db)-spent
	stop()
	require.NoError(b, <-ended)

	took := make([]float64, n)
	for i := range took {
		took[i] = float64(load.arrived[first+i].Load()-load.committed[first+i]) / 1e6
	}
	slices.Sort(took)
	b.ReportMetric(took[n/2], "p50-ms")
	b.ReportMetric(took[n*99/100], "p99-ms")
	b.ReportMetric(float64(statements)/float64(n), "statements/msg")
	b.ReportMetric(float64(spent)*1e4/float64(n), "server-µs/msg")
	b.ReportMetric(float64(n)/seconds, "msg/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkTailBesideOthers runs a relay of an idle outbox in a database whose other tables take 5,000
// rows a second. It reports the processor time of the relay's sessions on the server, including the change
// log's, which decodes all of it.
func BenchmarkTailBesideOthers(b *testing.B) {
	if testing.Short() {
		b.Skip("needs PostgreSQL")
	}
	server := logical(b)
	for name, tail := range map[string]*pgoutbox.TailConfig{"polls": nil, "tail": {}} {
		for _, rows := range []int{10, 100} {
			b.Run(fmt.Sprintf("%s/rows=%d", name, rows), func(b *testing.B) { benchTailBesideOthers(b, server, tail, rows) })
		}
	}
}

func benchTailBesideOthers(b *testing.B, server *testenv.PostgresServer, tail *pgoutbox.TailConfig, rows int) {
	b.Helper()
	const perSecond, seconds = 5000, 4
	ob, db := tailed(b, server)
	_, err := db.Pool.Exec(b.Context(), "CREATE TABLE others (id bigserial PRIMARY KEY, body text)")
	require.NoError(b, err)
	follows := make(tailEvents, 10)
	if tail != nil {
		tail = &pgoutbox.TailConfig{Hooks: []outbox.Hook{follows}}
	}
	own, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	source, err := own.Source(pgoutbox.SourceConfig{Tail: tail, Start: driver.Start{Oldest: true}})
	require.NoError(b, err)
	arrived := make(chan struct{}, 1)
	sink, err := relay.Func(func(context.Context, outbox.Record) error { arrived <- struct{}{}; return nil }, relay.FuncConfig{})
	require.NoError(b, err)
	r, err := relay.New(source, sink, relay.Config{})
	require.NoError(b, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	newTimedLoad(ob, db, 1).commit(b, 0)
	<-arrived
	if tail != nil {
		require.True(b, follows.next(b).Follows)
	}

	spent, began, n := relayTicks(b, db), time.Now(), 0
	for b.Loop() {
		for range perSecond * seconds / rows {
			_ = wait.For(b.Context(), time.Until(began.Add(time.Duration(n)*time.Second/perSecond)))
			n += rows
			_, err := db.Pool.Exec(b.Context(), "INSERT INTO others (body) SELECT repeat('x', 200) FROM generate_series(1, $1)", rows)
			require.NoError(b, err)
		}
	}
	spent = relayTicks(b, db) - spent
	b.ReportMetric(float64(spent)*10/time.Since(began).Seconds(), "server-ms/s")
	b.ReportMetric(float64(n)/time.Since(began).Seconds(), "rows/s")
	b.ReportMetric(0, "ns/op")
	stop()
	require.NoError(b, <-ended)
}

// timedLoad commits messages at fixed times, and records when each was committed and when it arrived.
type timedLoad struct {
	ob        *pgoutbox.Outbox
	db        *testenv.Database
	rate      int
	ring      func() // nil for none
	sent      int
	arrived   []atomic.Int64
	committed []int64
	count     atomic.Int64
}

func newTimedLoad(ob *pgoutbox.Outbox, db *testenv.Database, rate int) *timedLoad {
	const most = 10 // loads
	n := rate * (1 + most*benchSeconds)
	return &timedLoad{ob: ob, db: db, rate: rate, arrived: make([]atomic.Int64, n), committed: make([]int64, n)}
}

func (l *timedLoad) arrive(_ context.Context, r outbox.Record) error {
	i, err := strconv.Atoi(string(r.Payload[:8]))
	if err == nil {
		l.arrived[i].Store(time.Now().UnixNano())
		l.count.Add(1)
	}
	return err
}

// produce commits n messages, and waits until all have arrived.
func (l *timedLoad) produce(b *testing.B, n int) {
	b.Helper()
	from := l.sent
	l.sent += n
	var writers sync.WaitGroup
	var next atomic.Int64
	next.Store(int64(from))
	began := time.Now()
	for range 8 {
		writers.Go(func() {
			for i := int(next.Add(1) - 1); i < from+n; i = int(next.Add(1) - 1) {
				_ = wait.For(b.Context(), time.Until(began.Add(time.Duration(i-from)*time.Second/time.Duration(l.rate))))
				l.commit(b, i)
			}
		})
	}
	writers.Wait()
	require.Eventually(b, func() bool { return l.count.Load() >= int64(l.sent) }, time.Minute, time.Millisecond)
}

func (l *timedLoad) commit(b *testing.B, i int) {
	b.Helper()
	payload := fmt.Appendf(nil, "%08d%504d", i, 0)
	err := pgx.BeginFunc(context.Background(), l.db.Pool, func(tx pgx.Tx) error {
		return l.ob.Enqueue(context.Background(), tx, outbox.Message{Topic: "orders", Key: "k" + strconv.Itoa(i), Payload: payload})
	})
	if err != nil {
		b.Error(err)
	}
	l.committed[i] = time.Now().UnixNano()
	if l.ring != nil {
		l.ring()
	}
}

// statementCounter counts the statements of its connections.
type statementCounter struct{ n atomic.Int64 }

// TraceQueryStart implements pgx.QueryTracer.
func (c *statementCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*statementCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// pool returns a pool whose statements are counted, together with those of connections beside the pool.
func (c *statementCounter) pool(b *testing.B, db *testenv.Database) *pgxpool.Pool {
	b.Helper()
	cfg := db.Pool.Config()
	cfg.ConnConfig.Tracer = c
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	return pool
}

// relayTicks returns the processor time of the relay's sessions on the server, in hundredths of a second.
func relayTicks(b *testing.B, db *testenv.Database) (ticks int) {
	b.Helper()
	rows, err := db.Pool.Query(context.Background(), "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'leat %'")
	require.NoError(b, err)
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(b, err)
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			b.Skip("needs /proc of the server")
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		for _, field := range fields[11:13] { // utime, stime
			n, err := strconv.Atoi(field)
			require.NoError(b, err)
			ticks += n
		}
	}
	return ticks
}
