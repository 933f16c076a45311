package pgoutbox_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO15_StatsAreBounded: the queries of a metrics sampler and of the dashboard cost a few pages,
// whatever the length of the log, even with the whole log as backlog and far more set aside than is
// counted. LEAT_TEST_ROWS makes the log longer. D7.
//
//leat:level 4
func TestO15_StatsAreBounded(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "needs a million rows")
	db := testenv.Postgres(t, million(t))
	rows := 1_000_000
	if more, err := strconv.Atoi(os.Getenv("LEAT_TEST_ROWS")); err == nil && more > rows {
		exec(t, db, fmt.Sprintf(`INSERT INTO leat.outbox (xid, seq, id, shard, topic, key, payload) OVERRIDING SYSTEM VALUE
			SELECT (1000 + i/2)::text::xid8, i, gen_random_uuid(), i %% 64, 'events', 'key-' || i %% 1000, '\x00112233445566778899aabbccddeeff'
			FROM generate_series(1000001, %d) i`, more))
		rows = more
	}
	fillBeside(t, db, rows)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	// Ten thousand records that have failed are the dearest: a page each.
	for _, known := range []string{"none", "fresh"} {
		if known == "fresh" {
			exec(t, db, "ANALYZE")
		}
		for statement, most := range map[string]int{"stats": 13_000, "groups": 200} {
			n := explainSQL(t, db, "force_custom_plan", loadStatements(t, "sql")[statement])
			t.Logf("%s of %d rows, %s statistics: %d buffers, %.1f ms", statement, rows, known, n.Hit+n.Read, n.Time)
			require.LessOrEqual(t, n.Hit+n.Read, most, "%s of %d rows, %s statistics\n%s", statement, rows, known, n)
		}
		s := statsOf(t, ob)
		require.Equal(t, rows, int(s.LastSeq))
		require.True(t, s.DelayedEstimated)
		require.Len(t, s.Groups, 2)
		behind, idle := s.Groups[0], s.Groups[1]
		require.True(t, behind.Estimated)
		require.Equal(t, 10_000, behind.Retrying+behind.Parked, "of those that have failed, a floor")
		require.False(t, idle.Estimated)
		require.Equal(t, []int{20, 20, 7}, []int{idle.Held, idle.Parked, idle.Dead})
		require.EqualValues(t, rows, behind.Slots[0].Backlog)
		if known == "fresh" {
			require.InDelta(t, 60_000, s.Delayed, 600)
			require.InDelta(t, 60_000, behind.Held, 600)
			require.InDelta(t, 60_000, behind.Dead, 600)
		} else {
			require.Equal(t, []int{10_000, 10_000, 10_000}, []int{s.Delayed, behind.Held, behind.Dead}, "a floor")
		}
	}
	require.Equal(t, 60, sampled(t, db), "three statements a sample, and what sets jit and their settings")
}

// fillBeside adds a group that has read nothing and one that has read everything. For the first it sets
// aside six times as many records as are counted.
func fillBeside(t *testing.T, db *testenv.Database, rows int) {
	t.Helper()
	exec(t, db, fmt.Sprintf("SELECT setval(pg_get_serial_sequence('leat.outbox', 'seq'), %d)", rows))
	for group, at := range map[string]int{"behind": 0, "idle": rows} {
		exec(t, db, fmt.Sprintf(`
			INSERT INTO leat.outbox_groups (relay_group) VALUES ('%[1]s');
			INSERT INTO leat.outbox_leases (relay_group, slot, owner, lease_until) SELECT '%[1]s', 0, 'x', now() + interval '1 h';
			INSERT INTO leat.outbox_positions (relay_group, slot, window_no, prev, target, floor, next_floor, source_floor, last, owner, epoch, system_identifier, opened_by)
			SELECT '%[1]s', 0, 7, '%[2]s', '%[3]s', %[4]d, %[5]d, %[5]d, %[4]d, 'x', 1, system_identifier, pg_snapshot_xmax('%[3]s') FROM pg_control_system()`,
			group, snapshotAt(at), snapshotAt(rows), at, rows))
	}
	for _, table := range []string{"held", "dead", "delayed"} {
		exec(t, db, "ALTER TABLE leat.outbox_"+table+" SET (autovacuum_enabled = false)")
	}
	const columns = "epoch, created_at, id, shard, topic, key, payload"
	const values = "1, now(), gen_random_uuid(), i % 64, 'events-' || i % 100, 'key-' || i, repeat('x', 300)::bytea"
	exec(t, db, `INSERT INTO leat.outbox_held (relay_group, seq, state, next_at, `+columns+`)
		SELECT 'behind', i, CASE i % 3 WHEN 0 THEN 'parked' WHEN 1 THEN 'retry' ELSE 'wait' END,
			CASE WHEN i % 3 = 1 THEN now() END, `+values+` FROM generate_series(1, 60000) i
		UNION ALL SELECT 'idle', i, 'parked', NULL, `+values+` FROM generate_series(1, 20) i;
		INSERT INTO leat.outbox_dead (relay_group, seq, `+columns+`)
		SELECT 'behind', i, `+values+` FROM generate_series(1, 60000) i
		UNION ALL SELECT 'idle', i, `+values+` FROM generate_series(1, 7) i;
		INSERT INTO leat.outbox_delayed (not_before, created_at, id, shard, topic, key, payload)
		SELECT now() + interval '1 day', now(), gen_random_uuid(), i % 64, 'events', 'key', repeat('x', 300)::bytea FROM generate_series(1, 60000) i`)
}

// sentStatements counts the statements that are sent to a server, including those in batches.
type sentStatements struct{ n atomic.Int64 }

// TraceQueryStart implements pgx.QueryTracer.
func (s *sentStatements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.n.Add(1)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*sentStatements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (s *sentStatements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, batch pgx.TraceBatchStartData) context.Context {
	s.n.Add(int64(batch.Batch.Len()))
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (*sentStatements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (*sentStatements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// sampled returns how many statements ten samples take, and logs what they cost the server.
func sampled(t *testing.T, db *testenv.Database) (statements int) {
	t.Helper()
	var sent sentStatements
	cfg := db.Pool.Config()
	cfg.MaxConns, cfg.ConnConfig.Tracer = 1, &sent
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer pool.Close()
	var pid int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid))
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	require.NoError(t, err)
	sent.n.Store(0)
	before := hundredths(pid)
	for range 10 {
		_ = statsOf(t, ob)
		_, err := ob.Admin().Groups(t.Context())
		require.NoError(t, err)
	}
	t.Logf("a sample took %d ms of the server's processor", hundredths(pid)-before)
	return int(sent.n.Load())
}

// hundredths returns the processor time of a local process in hundredths of a second, or 0 if it is
// unknown.
func hundredths(pid int) (all int) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if err != nil || len(fields) < 13 {
		return 0
	}
	for _, field := range fields[11:13] { // utime, stime
		n, _ := strconv.Atoi(field)
		all += n
	}
	return all
}
