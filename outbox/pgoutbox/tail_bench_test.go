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
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// BenchmarkTail commits a message at a time, 1,000 a second, from producers that ring no
// bell. It shows the time from the return of COMMIT to the sink, and for each message the
// processor time of the relay's sessions on the server and the relay's statements.
func BenchmarkTail(b *testing.B) {
	if testing.Short() {
		b.Skip("needs PostgreSQL")
	}
	server := logical(b)
	for name, tail := range map[string]*pgoutbox.TailConfig{"polling": nil, "tail": {}} {
		b.Run(name, func(b *testing.B) { benchTail(b, server, tail) })
	}
}

func benchTail(b *testing.B, server *testenv.PostgresServer, tail *pgoutbox.TailConfig) {
	b.Helper()
	ob, db := tailed(b, server)
	queries := &statementCounter{}
	relays := queries.pool(b, db)
	own, err := pgoutbox.New(relays, pgoutbox.Config{})
	require.NoError(b, err)
	source, err := own.Source(pgoutbox.SourceConfig{Tail: tail, Start: pgoutbox.StartOldest()})
	require.NoError(b, err)

	load := &timedLoad{ob: ob, db: db, arrived: make([]atomic.Int64, b.N+benchRate), committed: make([]int64, b.N+benchRate)}
	sink, err := relay.Func(load.arrive, relay.FuncConfig{})
	require.NoError(b, err)
	r, err := relay.New(source, sink, relay.Config{})
	require.NoError(b, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()

	load.produce(b, 0, benchRate) // a second, in which a tail joins
	statements, spent := queries.n.Load(), relayTicks(b, db)
	b.ResetTimer()
	load.produce(b, benchRate, benchRate+b.N)
	b.StopTimer()
	statements, spent = queries.n.Load()-statements, relayTicks(b, db)-spent
	stop()
	require.NoError(b, <-ended)

	took := make([]float64, b.N)
	for i := range took {
		took[i] = float64(load.arrived[benchRate+i].Load()-load.committed[benchRate+i]) / 1e6
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "p50-ms")
	b.ReportMetric(took[len(took)*99/100], "p99-ms")
	b.ReportMetric(float64(statements)/float64(b.N), "statements/msg")
	b.ReportMetric(float64(spent)*1e4/float64(b.N), "server-µs/msg")
}

// benchRate is the messages a second.
const benchRate = 1000

// timedLoad commits messages at fixed times, and notes when each was committed and when it
// has arrived.
type timedLoad struct {
	ob        *pgoutbox.Outbox
	db        *testenv.Database
	arrived   []atomic.Int64
	committed []int64
	count     atomic.Int64
}

func (l *timedLoad) arrive(_ context.Context, r outbox.Record) error {
	i, err := strconv.Atoi(string(r.Payload[:8]))
	if err == nil {
		l.arrived[i].Store(time.Now().UnixNano())
		l.count.Add(1)
	}
	return err
}

// produce commits the messages from up to before to, and waits until all have arrived.
func (l *timedLoad) produce(b *testing.B, from, to int) {
	b.Helper()
	var writers sync.WaitGroup
	var next atomic.Int64
	next.Store(int64(from))
	began := time.Now()
	for range 8 {
		writers.Go(func() {
			for i := int(next.Add(1) - 1); i < to; i = int(next.Add(1) - 1) {
				time.Sleep(time.Until(began.Add(time.Duration(i-from) * time.Second / benchRate)))
				payload := fmt.Appendf(nil, "%08d%504d", i, 0)
				err := pgx.BeginFunc(context.Background(), l.db.Pool, func(tx pgx.Tx) error {
					return l.ob.Enqueue(context.Background(), tx, outbox.Message{Topic: "orders", Key: "k" + strconv.Itoa(i), Payload: payload})
				})
				if err != nil {
					b.Error(err)
				}
				l.committed[i] = time.Now().UnixNano()
			}
		})
	}
	writers.Wait()
	require.Eventually(b, func() bool { return l.count.Load() >= int64(to) }, time.Minute, time.Millisecond)
}

// statementCounter counts the statements of connections.
type statementCounter struct{ n atomic.Int64 }

// TraceQueryStart implements pgx.QueryTracer.
func (c *statementCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*statementCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// pool returns a pool whose statements are counted, and those of connections beside it.
func (c *statementCounter) pool(b *testing.B, db *testenv.Database) *pgxpool.Pool {
	b.Helper()
	cfg := db.Pool.Config()
	cfg.ConnConfig.Tracer = c
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	return pool
}

// relayTicks is the processor time of the relay's sessions on the server, in hundredths of
// a second.
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
