package pgoutbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

func statsOf(t *testing.T, ob *pgoutbox.Outbox) admin.Stats {
	t.Helper()
	s, err := ob.Admin().Stats(t.Context())
	require.NoError(t, err)
	return s
}

// TestStats follows the statistics of an outbox from its first day.
func TestStats(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := statsOf(t, ob)
	require.Positive(t, s.Bytes)
	require.Equal(t, []int{5, 4}, []int{s.Ranges, s.RangesAhead}, "all but the last, which has no end")
	s.Bytes, s.Ranges, s.RangesAhead = 0, 0, 0
	require.Equal(t, admin.Stats{}, s, "nothing yet")

	h := holdingOf(t, ob, db, "default")
	late := begin(t, ob, db).put("late", "late")
	put(t, ob, "a", "1", "2", "3")
	put(t, ob, "b", "4", "5")
	put(t, ob, "", "6")
	exec(t, db, "INSERT INTO leat.outbox_leases (relay_group, slot, owner) VALUES ('_maintenance', 0, 'x')")
	exec(t, db, "INSERT INTO leat.outbox_delayed (not_before, id, shard, topic, payload) VALUES (now(), gen_random_uuid(), 1, 't', '')")
	h.hold(driver.FateRetry, driver.FateWait, driver.FateWait, driver.FatePark, driver.FateWait, driver.FateDead)
	put(t, ob, "c", "7", "8")
	late.commit()

	s = statsOf(t, ob)
	require.EqualValues(t, 9, s.LastSeq)
	require.Equal(t, 1, s.Delayed)
	require.Len(t, s.Groups, 1)
	g := s.Groups[0]
	require.Equal(t, []any{"default", 5, 1, 1, 1}, []any{g.Name, g.Held, g.Retrying, g.Parked, g.Dead})
	require.Positive(t, g.OldestRetried)
	require.Len(t, g.Slots, 1)
	slot := g.Slots[0]
	require.Equal(t, []any{0, h.owner(), h.Epoch(), int64(1), int64(3)}, []any{slot.Slot, slot.Owner, slot.Epoch, slot.Window, slot.Backlog})
	require.Greater(t, slot.LeaseLeft, testLease/2)
	require.Positive(t, slot.Lag)
	require.Positive(t, slot.WindowAge)

	require.NoError(t, h.Release(t.Context()))
	slot = statsOf(t, ob).Groups[0].Slots[0]
	require.Empty(t, slot.Owner)
	require.Zero(t, slot.LeaseLeft)
}

// TestO11_StatsMeasurePastOpenTransactions: the oldest message counts even while an older transaction is
// open. A message that commits late counts from the time when it was stored.
func TestO11_StatsMeasurePastOpenTransactions(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	late := begin(t, h.ob, h.db).put("late", "late")
	put(t, h.ob, "a", "1")
	require.Equal(t, []string{"1"}, payloads(readAll(t, h, 10)))
	require.Zero(t, statsOf(t, h.ob).Groups[0].Slots[0].Lag, "what is open is nobody's lag")
	late.exec("UPDATE leat.outbox SET created_at = now() - interval '1 h' WHERE key = 'late'")
	late.commit()
	slot := statsOf(t, h.ob).Groups[0].Slots[0]
	require.EqualValues(t, 1, slot.Backlog)
	require.InDelta(t, time.Hour, slot.Lag, float64(time.Minute))
}

// TestStats_Agree: for every position in a window, the count agrees with a count over all rows.
func TestStats_Agree(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	for round := range 8 {
		open := begin(t, ob, db).put("", "open")
		put(t, ob, "a", "1", "2", "3")
		agrees(t, ob, db)
		page, err := s.Read(t.Context(), 2)
		require.NoError(t, err)
		agrees(t, ob, db)
		if round%2 == 0 {
			open.commit()
		} else {
			defer open.rollback()
		}
		if n := len(page.Records); n > 0 {
			require.NoError(t, s.Advance(t.Context(), page, n-n/2))
			agrees(t, ob, db)
			if n > 1 {
				require.NoError(t, s.Advance(t.Context(), page, n))
			}
		}
		agrees(t, ob, db)
	}
}

func agrees(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database) {
	t.Helper()
	require.EqualValues(t, len(pending(t, db, "default")), statsOf(t, ob).Groups[0].Slots[0].Backlog)
}

// TestStats_Plan: on a million rows, with nearly all of them unread or none, and with an hours-old
// transaction open, Stats touches a few pages in memory.
//
//leat:level 4
func TestStats_Plan(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "needs a million rows")
	db := testenv.Postgres(t, million(t))
	const hoursOld = 2000
	const all = 1_000_000
	exec(t, db, "SELECT setval(pg_get_serial_sequence('leat.outbox', 'seq'), 1000000)")
	// The transactions of the rows are made up; this server's own are younger still.
	for name, w := range map[string]struct {
		prev, target           string
		floor, nextFloor, last int
		backlogMin, backlogMax int
	}{
		"behind":     {snapshotAt(100_000, hoursOld), snapshotAt(all, hoursOld), 100_000, 999_990, 200_000, 700_000, 900_000},
		"from start": {"3:3:", snapshotAt(all), 0, all, 0, 1_000_000, 1_000_000},
		"up to date": {snapshotAt(999_000, hoursOld), snapshotAt(all, hoursOld), 998_000, 999_000, all, 0, 10},
	} {
		exec(t, db, fmt.Sprintf(`TRUNCATE leat.outbox_leases, leat.outbox_positions;
			INSERT INTO leat.outbox_leases (relay_group, slot, owner, lease_until) SELECT 'default', 0, 'x', now() + interval '1 h';
			INSERT INTO leat.outbox_positions (relay_group, slot, window_no, prev, target, floor, next_floor, source_floor, last, owner, epoch, system_identifier, opened_by)
			VALUES ('default', 0, 7, '%s', '%s', %d, %d, %d, %d, 'x', 1, (SELECT system_identifier FROM pg_control_system()), '600000')`, w.prev, w.target, w.floor, w.nextFloor, all, w.last))
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			n := explainSQL(t, db, mode, loadStatements(t, "sql")["stats"])
			where := name + ", " + mode + "\n" + n.String()
			require.LessOrEqual(t, n.Hit+n.Read, 1500, where)
			n.checkLog(t, where)
		}
		ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
		require.NoError(t, err)
		slot := statsOf(t, ob).Groups[0].Slots[0]
		require.GreaterOrEqual(t, int(slot.Backlog), w.backlogMin, name)
		require.LessOrEqual(t, int(slot.Backlog), w.backlogMax, name)
	}
}

// checkLog fails if the plan walks whole tables.
func (n *node) checkLog(t *testing.T, where string) {
	t.Helper()
	if n.Type == "Seq Scan" || n.Type == "Bitmap Heap Scan" {
		require.LessOrEqual(t, (n.Rows+n.Removed)*n.Loops, 2000.0, where)
	}
	for _, child := range n.Plans {
		child.checkLog(t, where)
	}
}

// explainSQL runs a statement without parameters as Stats does, and returns its plan.
func explainSQL(t *testing.T, db *testenv.Database, mode, sql string) *node {
	t.Helper()
	ctx := t.Context()
	conn := db.Connect(t)
	for _, s := range []string{"SET plan_cache_mode = " + mode, "BEGIN", pgoutbox.ByIndex, "PREPARE look AS " + sql, "EXECUTE look"} {
		_, err := conn.Exec(ctx, s)
		require.NoError(t, err)
	}
	var raw string
	require.NoError(t, conn.QueryRow(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE look", pgx.QueryExecModeSimpleProtocol).Scan(&raw))
	_, err := conn.Exec(ctx, "ROLLBACK")
	require.NoError(t, err)
	var plans []struct{ Plan node }
	require.NoError(t, json.Unmarshal([]byte(raw), &plans))
	return &plans[0].Plan
}

// TestStats_SlotsAndTopics: each slot counts its own shards, and a group only the topics that it reads.
func TestStats_SlotsAndTopics(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	src, err := ob.Source(pgoutbox.SourceConfig{Group: "g", Slots: 4, Topics: []string{"ev_nts", "e*s"}, Start: driver.Start{Oldest: true}})
	require.NoError(t, err)
	s, err := src.Acquire(t.Context(), testLease)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Release(context.Background()) })
	for i := range 40 {
		put(t, ob, fmt.Sprint("k", i), "x")
	}
	exec(t, db, "UPDATE leat.outbox SET topic = 'other' WHERE seq > 30")
	slots := statsOf(t, ob).Groups[0].Slots
	require.Len(t, slots, 4)
	for _, slot := range slots {
		want := query1[int64](t, db, "SELECT count(*) FROM leat.outbox WHERE shard % 4 = $1 AND seq <= 30", slot.Slot)
		require.Equal(t, want, slot.Backlog, slot.Slot)
		require.Positive(t, slot.Lag)
	}
	read := readAll(t, s, 100)
	own, ok := s.(driver.Slotted)
	require.True(t, ok)
	require.Len(t, read, int(slots[own.Slot()].Backlog))
	require.Zero(t, statsOf(t, ob).Groups[0].Slots[own.Slot()].Backlog)
}
