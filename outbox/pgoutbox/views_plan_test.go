package pgoutbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO15_ViewsArePlannedCheap: an operator's queries on a million rows take milliseconds. They touch a
// few pages and are not JIT-compiled, which used to take seconds, since the planner knows that they are
// cheap. They run as a role that may only read the views. D7.
//
//leat:level 4
func TestO15_ViewsArePlannedCheap(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "needs a million rows")
	db := testenv.Postgres(t, million(t))
	const all = 1_000_000
	exec(t, db, "SELECT setval(pg_get_serial_sequence('leat.outbox', 'seq'), 1000000)")
	for group, w := range map[string]struct {
		prev        string
		floor, last int
	}{
		"idle":   {snapshotAt(all), all, all},
		"behind": {snapshotAt(100_000, 2000), 100_000, 200_000},
	} {
		exec(t, db, fmt.Sprintf(`
			INSERT INTO leat.outbox_groups (relay_group) VALUES ('%[1]s');
			INSERT INTO leat.outbox_leases (relay_group, slot, owner, lease_until) SELECT '%[1]s', 0, 'x', now() + interval '1 h';
			INSERT INTO leat.outbox_positions (relay_group, slot, window_no, prev, target, floor, next_floor, source_floor, last, owner, epoch, system_identifier, opened_by)
			SELECT '%[1]s', 0, 7, '%[2]s', '%[3]s', %[4]d, %[6]d, %[6]d, %[5]d, 'x', 1, system_identifier, pg_snapshot_xmax('%[3]s') FROM pg_control_system()`,
			group, w.prev, snapshotAt(all), w.floor, w.last, all))
	}
	viewer := outboxOfRole(t, db, []string{"SELECT ON leat.outbox_status", "SELECT ON leat.outbox_pending"}, "")
	for _, statistics := range statistics() {
		know(t, db, statistics)
		for sql, most := range map[string]int{
			"SELECT * FROM leat.outbox_status":                             2000,
			"SELECT * FROM leat.outbox_pending WHERE relay_group = 'idle'": 150,
		} {
			p := explainAll(t, viewer, sql)
			where := fmt.Sprintf("%s, %s statistics\n%s", sql, statistics, &p.Plan)
			require.Empty(t, p.JIT, where)
			require.Less(t, p.Plan.Cost, 50_000.0, "half of jit_above_cost: %s", where)
			require.LessOrEqual(t, p.Plan.Hit+p.Plan.Read, most, where)
		}
	}
	require.Equal(t, "0 t", query1[string](t, db, "SELECT concat_ws(' ', pending, oldest_pending IS NULL) FROM leat.outbox_status WHERE relay_group = 'idle'"))
	require.Equal(t, "800000 t", query1[string](t, db, "SELECT concat_ws(' ', pending, lag > interval '0') FROM leat.outbox_status WHERE relay_group = 'behind'"))
}

// executed is an executed plan, with the time that JIT compilation took.
type executed struct {
	Plan node
	JIT  json.RawMessage
}

// explainAll explains sql as the role of ob, with the server's own settings.
func explainAll(t *testing.T, ob *pgoutbox.Outbox, sql string) executed {
	t.Helper()
	var plans []executed
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL jit = on"); err != nil {
			return err
		}
		var raw string
		if err := tx.QueryRow(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql, pgx.QueryExecModeSimpleProtocol).Scan(&raw); err != nil {
			return err
		}
		return json.Unmarshal([]byte(raw), &plans)
	}))
	return plans[0]
}

// TestStats_RowsAreCountedOnce: ANALYZE of the log counts rows for the log as a whole and for each range.
func TestStats_RowsAreCountedOnce(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	putMany(t, ob, 0, 20)
	exec(t, db, "ANALYZE leat.outbox")
	require.EqualValues(t, 20, statsOf(t, ob).Rows)
}

// TestStats_ClosedRanges: numbers that were skipped when a range was closed do not count as backlog.
func TestStats_ClosedRanges(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	m := maintenance(t, ob, pgoutbox.MaintenanceConfig{})
	acquire(t, ob, "")
	for range 3 {
		fill(t, db, 600)
		age(t, db, "2 days")
		require.Len(t, once(t, m).Closed, 1)
	}
	fill(t, db, 200)
	require.EqualValues(t, 30_000_200, statsOf(t, ob).LastSeq)
	require.EqualValues(t, 2000, statsOf(t, ob).Groups[0].Slots[0].Backlog)
}
