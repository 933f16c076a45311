package pgoutbox_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

func TestMaintenanceConfig(t *testing.T) {
	t.Parallel()
	ob, err := pgoutbox.New(testenv.Postgres(t).Pool, pgoutbox.Config{})
	require.NoError(t, err)
	for field, cfg := range map[string]pgoutbox.MaintenanceConfig{
		"Interval":      {Interval: -1},
		"Lease":         {Lease: time.Millisecond},
		"MaxBytes":      {MaxBytes: -1},
		"PartitionSize": {PartitionSize: 9},
		"Ahead":         {Ahead: 101},
		"LockTimeout":   {LockTimeout: time.Hour},
		"MaxTailScan":   {MaxTailScan: -1},
		"DeleteChunk":   {DeleteChunk: -1},
		"KeepAudit":     {KeepAudit: -1},
		"KeepDead":      {KeepDead: -1},
		"WarnAt":        {WarnAt: 1.5},
		"DelayedPoll":   {DelayedPoll: -1},
	} {
		_, err := pgoutbox.NewMaintenance(ob, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, field+" = ")
	}
	_, err = pgoutbox.NewMaintenance(ob, pgoutbox.MaintenanceConfig{NoDDL: true, MaxBytes: 1})
	require.ErrorContains(t, err, "must be 0 where NoDDL is set")
	_, err = pgoutbox.NewMaintenance(nil, pgoutbox.MaintenanceConfig{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}

// TestO14_OneMaintains: one of several processes works, another takes over when it stops, and in the end
// all leases are free.
func TestO14_OneMaintains(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	cfg := atOnce()
	cfg.Interval, cfg.DelayedPoll, cfg.Lease = 10*time.Millisecond, 10*time.Millisecond, time.Second
	s := acquire(t, ob, "")
	run := func() (stop func()) {
		m, done := maintenance(t, ob, cfg), make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- m.Run(ctx) }()
		await(t, "it runs", func() bool {
			return query1[int](t, db, "SELECT count(*) FROM leat.outbox_leases WHERE owner IS NOT NULL AND starts_with(relay_group, '_')") == 2
		})
		return func() {
			_, err := m.RunOnce(t.Context())
			require.ErrorIs(t, err, outbox.ErrAlreadyRunning)
			require.ErrorIs(t, m.Run(t.Context()), outbox.ErrAlreadyRunning)
			cancel()
			require.NoError(t, <-done)
		}
	}
	first := run()
	_, err := maintenance(t, ob, cfg).RunOnce(t.Context())
	require.ErrorIs(t, err, driver.ErrLeaseHeld)
	second := run()
	n := 0
	cycle := func() {
		putMany(t, ob, n, 20)
		require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			return ob.Enqueue(ctx, tx, delayedBy("", time.Now().Add(50*time.Millisecond), "later")...)
		}))
		n += 21
		await(t, "the delayed one comes", func() bool {
			settle(t, s)
			return query1[int64](t, db, "SELECT coalesce(pg_sequence_last_value('leat.outbox_seq_seq'), 0)") >= int64(n)
		})
		await(t, "what is settled goes", func() bool { return stored(t, db) < 20 })
	}
	cycle()
	first()
	cycle()
	second()
	require.Zero(t, query1[int](t, db, "SELECT count(*) FROM leat.outbox_leases WHERE owner IS NOT NULL AND starts_with(relay_group, '_')"))
}

// TestO15_PinsAreFoundByIndex: the queries about a range that run under a lock read only its unsettled
// rows.
//
//leat:level 4
func TestO15_PinsAreFoundByIndex(t *testing.T) {
	t.Parallel()
	// On a server of its own: what is unsettled begins at the oldest transaction under way,
	// and other tests have old ones.
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off"}})
	db := server.Database(t, migrated())
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	fill(t, db, 200_000)
	s := acquire(t, ob, "")
	settleAll(t, s)
	put(t, ob, "k", "pending")
	for name, most := range map[string]int{"pins": 200, "lags": 400} {
		tx := begin(t, ob, db).exec("SET LOCAL enable_seqscan = off").exec("SET LOCAL jit = off")
		sql, err := pgoutbox.MaintenanceStatement(ob, name, "outbox_p1")
		require.NoError(t, err)
		rows, err := tx.Query(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, TIMING off) "+sql)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		plan := strings.Join(lines, "\n")
		require.NotContains(t, plan, "Seq Scan on outbox_p1", plan)
		require.LessOrEqual(t, buffers(t, lines), most, plan)
		tx.rollback()
	}
}

// buffers returns the number of pages that a plan has touched.
func buffers(t *testing.T, plan []string) int {
	t.Helper()
	for _, line := range plan {
		if at := strings.Index(line, "Buffers: "); at >= 0 {
			var hit, read int
			_, _ = fmt.Sscanf(line[at:], "Buffers: shared hit=%d read=%d", &hit, &read) // the second is not always there
			return hit + read
		}
	}
	require.Fail(t, "the plan says nothing of buffers")
	return 0
}

// fill writes n messages, an hour old.
func fill(tb testing.TB, db *testenv.Database, n int) {
	tb.Helper()
	_, err := db.Pool.Exec(tb.Context(), `INSERT INTO leat.outbox (created_at, id, shard, topic, key, payload)
		SELECT now() - interval '1 hour', gen_random_uuid(), i % 64, 'events', (i % 1000)::text, 'payload'
		FROM generate_series(1, $1::int) i`, n)
	require.NoError(tb, err)
}

// settleAll settles everything and discards it.
func settleAll(tb testing.TB, s driver.Session) {
	tb.Helper()
	for {
		page, err := s.Read(tb.Context(), 10_000)
		require.NoError(tb, err)
		if len(page.Records) == 0 {
			return
		}
		require.NoError(tb, s.Advance(tb.Context(), page, len(page.Records)))
	}
}
