package bench_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/metrics/promleat"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// envFleet makes a process relay, maintain and sample outboxes. Its value is their number and PollMax.
const envFleet = "LEAT_BENCH_FLEET"

// fleetOf returns n outboxes of a database.
func fleetOf(ctx context.Context, pool *pgxpool.Pool, n int) ([]*pgoutbox.Outbox, error) {
	all := make([]*pgoutbox.Outbox, n)
	for i := range all {
		ob, err := pgoutbox.New(pool, pgoutbox.Config{Table: fmt.Sprintf("o%d", i)})
		if err != nil {
			return nil, err
		}
		if err := ob.Migrate(ctx); err != nil {
			return nil, err
		}
		all[i] = ob
	}
	return all, nil
}

// partsOf returns the relay and the maintenance of an outbox, as functions.
func partsOf(ob *pgoutbox.Outbox, poll time.Duration) ([]func(context.Context) error, error) {
	src, err := ob.Source(pgoutbox.SourceConfig{})
	if err != nil {
		return nil, err
	}
	sink, err := relay.Func(func(_ context.Context, r outbox.Record) error {
		_, err := fmt.Println(string(r.Payload))
		return err
	}, relay.FuncConfig{})
	if err != nil {
		return nil, err
	}
	r, err := relay.New(src, sink, relay.Config{PollMax: poll})
	if err != nil {
		return nil, err
	}
	m, err := pgoutbox.NewMaintenance(ob, pgoutbox.MaintenanceConfig{DelayedPoll: poll})
	if err != nil {
		return nil, err
	}
	return []func(context.Context) error{r.Run, m.Run}, nil
}

// runFleet runs all outboxes until the process is killed, and prints what it sends.
func runFleet(address, size string) error {
	ctx := context.Background()
	outboxes, pollMax, _ := strings.Cut(size, " ")
	n, err := strconv.Atoi(outboxes)
	if err != nil {
		return err
	}
	poll, err := time.ParseDuration(pollMax)
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		return err
	}
	all, err := fleetOf(ctx, pool, n)
	if err != nil {
		return err
	}
	m, err := promleat.New(prometheus.NewRegistry(), metrics.Config{})
	if err != nil {
		return err
	}
	sampled := map[string]admin.Outbox{}
	run := []func(context.Context) error{}
	for i, ob := range all {
		sampled[fmt.Sprintf("o%d", i)] = ob.Admin()
		parts, err := partsOf(ob, poll)
		if err != nil {
			return err
		}
		run = append(run, parts...)
	}
	sampler, err := m.NewSampler(metrics.SamplerConfig{Outboxes: sampled})
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	for _, part := range append(run, sampler.Run) {
		go func() { failed <- part(ctx) }()
	}
	return <-failed
}

// fleetProcess is the main function of a process that runs runFleet.
func fleetProcess(size string) {
	fmt.Fprintln(os.Stderr, runFleet(os.Getenv(envRelay), size))
	os.Exit(1)
}

// BenchmarkFleet measures the cost of a process whose outboxes, in one PostgreSQL database, are idle:
// relays, maintenance and samples of all of them, with PollMax and DelayedPoll. It also measures how long
// the first message after a second of silence takes, from the end of its commit until it is sent.
func BenchmarkFleet(b *testing.B) {
	for _, c := range []struct {
		outboxes int
		poll     time.Duration
	}{{1, time.Second}, {100, time.Second}, {100, 5 * time.Second}} {
		b.Run(fmt.Sprintf("outboxes=%d/poll=%s", c.outboxes, c.poll), func(b *testing.B) { fleet(b, c.outboxes, c.poll) })
	}
}

func fleet(b *testing.B, n int, poll time.Duration) {
	b.Helper()
	address := testenv.PrivatePostgres(b, testenv.PostgresOptions{Settings: map[string]string{"max_connections": "300"}}).URL()
	pool, err := pgxpool.New(b.Context(), address)
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	all, err := fleetOf(b.Context(), pool, n)
	require.NoError(b, err)
	b.Setenv(envFleet, fmt.Sprint(n, " ", poll))
	sent := make(chan sending, 1000)
	process := run(b, address, sent)
	leads := func() (slots int) {
		for i := range n {
			var one int
			require.NoError(b, pool.QueryRow(b.Context(), fmt.Sprintf(
				"SELECT count(*) FROM leat.o%d_leases WHERE lease_until > clock_timestamp() AND relay_group IN ('default', '_maintenance', '_delayed')", i)).Scan(&one))
			slots += one
		}
		return slots
	}
	require.Eventually(b, func() bool { return leads() == 3*n }, time.Minute, 100*time.Millisecond)
	<-time.After(settled)
	const lasting = 20 * time.Second
	before := runTime(b, process)
	<-time.After(lasting)
	b.ReportMetric(100*(runTime(b, process)-before).Seconds()/lasting.Seconds(), "cpu-%")
	b.ReportMetric(residentMiB(b, process), "rss-MiB")
	var connections int
	require.NoError(b, pool.QueryRow(b.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()").Scan(&connections))
	b.ReportMetric(float64(connections-int(pool.Stat().TotalConns())+1), "connections")

	notifying, end := context.WithCancel(b.Context())
	var notifier sync.WaitGroup
	notifier.Go(func() { _ = all[0].RunNotifier(notifying) })
	var took []time.Duration
	for i := range *rounds + 1 {
		<-time.After(time.Second)
		require.NoError(b, all[0].InTx(b.Context(), func(ctx context.Context, tx pgx.Tx) error {
			return all[0].Enqueue(ctx, tx, outbox.Message{Topic: "t", Key: "k", Payload: []byte(strconv.Itoa(i))})
		}))
		committed := time.Now()
		took = append(took, (<-sent).at.Sub(committed))
	}
	end()
	notifier.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "first-ms")
	b.ReportMetric(0, "ns/op")
}

// runTime returns the processor time that a process has used, user and system, in nanoseconds: ticks are
// too coarse.
func runTime(b *testing.B, r *runner) (sum time.Duration) {
	b.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", r.cmd.Process.Pid))
	require.NoError(b, err)
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		on, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(on, 10, 64)
		require.NoError(b, err)
		sum += time.Duration(n)
	}
	return sum
}

// residentMiB returns the resident memory of a process, in MiB.
func residentMiB(b *testing.B, r *runner) float64 {
	b.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", r.cmd.Process.Pid))
	require.NoError(b, err)
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	require.NoError(b, err)
	return float64(pages*os.Getpagesize()) / (1 << 20)
}
