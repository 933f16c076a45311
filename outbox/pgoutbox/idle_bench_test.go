package pgoutbox_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// BenchmarkIdle measures what twenty idle outboxes cost the server, by the longest wait between two reads,
// and how long a message waits if no wake announces it. Processor time is that of the relays' own
// sessions, in thousandths of a core per outbox; it needs Linux.
func BenchmarkIdle(b *testing.B) {
	if testing.Short() {
		b.Skip("it idles for minutes, which -short leaves out")
	}
	const outboxes, samples = 20, 6
	_, db := newOutbox(b, pgoutbox.Config{})
	var silent, all []*pgoutbox.Outbox
	for i := range outboxes {
		cfg := pgoutbox.Config{Table: "o" + strconv.Itoa(i)}
		ob, err := pgoutbox.New(db.Pool, cfg)
		require.NoError(b, err)
		require.NoError(b, ob.Migrate(b.Context()))
		other, err := pgoutbox.New(db.Pool, cfg) // its bell is not that of ob
		require.NoError(b, err)
		all, silent = append(all, ob), append(silent, other)
	}
	for _, pollMax := range []time.Duration{time.Second, 250 * time.Millisecond, 100 * time.Millisecond, 50 * time.Millisecond} {
		b.Run(pollMax.String(), func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			var running sync.WaitGroup
			defer running.Wait()
			defer cancel()
			sent := make([]chan time.Time, outboxes)
			for i, ob := range all {
				sent[i] = make(chan time.Time, 1)
				sink, err := relay.Func(func(context.Context, outbox.Record) error { sent[i] <- time.Now(); return nil }, relay.FuncConfig{})
				require.NoError(b, err)
				r, err := relay.New(source(b, ob, ""), sink, relay.Config{PollMax: pollMax})
				require.NoError(b, err)
				running.Go(func() { _ = r.Run(ctx) })
			}
			var mu sync.Mutex
			var waits []time.Duration
			measure := func(n int) {
				var asking sync.WaitGroup
				for i, ob := range silent {
					asking.Go(func() {
						for range n {
							<-time.After(2*pollMax + time.Second + rand.N(2*pollMax)) // idle again
							err := ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
								return ob.Enqueue(ctx, tx, outbox.Message{Topic: "t", Key: "k", Payload: []byte("x")})
							})
							if err != nil {
								return
							}
							began := time.Now()
							at := <-sent[i]
							mu.Lock()
							waits = append(waits, at.Sub(began))
							mu.Unlock()
						}
					})
				}
				asking.Wait()
			}
			measure(1) // all lead
			waits = nil
			measure(samples)
			slices.Sort(waits)
			<-time.After(12 * time.Second) // sessions keep what they have counted for so long
			before := idleCost(b, db.Pool.QueryRow)
			const seconds = 20
			<-time.After(seconds * time.Second)
			after := idleCost(b, db.Pool.QueryRow)
			each := func(d float64) float64 { return d / seconds / outboxes }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(waits[len(waits)/2].Milliseconds()), "p50-ms")
			b.ReportMetric(float64(waits[len(waits)*99/100].Milliseconds()), "p99-ms")
			b.ReportMetric(each(after.transactions-before.transactions), "statements/s/outbox")
			b.ReportMetric(each(after.wal-before.wal), "walbytes/s/outbox")
			b.ReportMetric(each(after.ticks-before.ticks)*10, "millicores/outbox")
		})
	}
}

// idleTotals holds a server's counters so far.
type idleTotals struct{ transactions, wal, ticks float64 }

func idleCost(b *testing.B, query func(ctx context.Context, sql string, args ...any) pgx.Row) (t idleTotals) {
	b.Helper()
	var pids []int
	err := query(b.Context(), `SELECT xact_commit, (pg_current_wal_insert_lsn() - '0/0')::float8,
		(SELECT array_agg(pid) FROM pg_stat_activity a WHERE a.datid = d.datid AND application_name LIKE 'leat relay%')
		FROM pg_stat_database d WHERE datname = current_database()`).Scan(&t.transactions, &t.wal, &pids)
	require.NoError(b, err)
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		require.NoError(b, err)
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))
		for _, field := range fields[11:13] { // user and system time, in hundredths of a second
			n, err := strconv.ParseFloat(field, 64)
			require.NoError(b, err)
			t.ticks += n
		}
	}
	return t
}
