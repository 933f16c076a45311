package pgoutbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// state returns every row that a relay writes, with its version.
func state(t *testing.T, db *testenv.Database) []string {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), `
		SELECT concat_ws(' ', 'position', ctid, xmin, window_no, last) FROM leat.outbox_positions
		UNION ALL SELECT concat_ws(' ', 'lease', ctid, xmin, epoch) FROM leat.outbox_leases ORDER BY 1`)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return all
}

// TestO15_IdleWritesNothing: however often an idle reader polls, it writes no row. A transaction that ends
// elsewhere in the cluster may cost a window, so the test waits for a moment when none was running.
func TestO15_IdleWritesNothing(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	put(t, ob, "k", "1", "2", "3")
	require.Len(t, readAll(t, s, 2), 3)
	open := begin(t, ob, db).put("open", "x")
	defer open.rollback()
	await(t, "a hundred reads without a write", func() bool {
		readNothing(t, s)
		before := state(t, db)
		for range 100 {
			readNothing(t, s)
		}
		after := state(t, db)
		return len(before) == len(after) && before[len(before)-1] == after[len(after)-1] && before[0] == after[0]
	})
}

// TestO15_HealthyRelayWritesNothingBeside: a relay that sends all it reads writes nothing to the tables
// for operators: they have no page, so they never had a row.
func TestO15_HealthyRelayWritesNothingBeside(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	for range 10 {
		put(t, ob, "k", "1", "2", "3", "4", "5")
		require.Equal(t, 5, runOnce(t, ob, outboxtest.NewBroker()))
	}
	bytes := func() int64 {
		return query1[int64](t, db, `SELECT sum(pg_relation_size('leat.outbox_' || name)) FROM unnest(ARRAY['out', 'held', 'dead', 'audit', 'delayed']) name`)
	}
	require.Zero(t, bytes())
	keeper, ok := acquire(t, ob, "").(driver.OutageKeeper)
	require.True(t, ok)
	require.NoError(t, keeper.KeepOutages(t.Context(), []driver.Outage{{Topic: "t", Since: time.Now(), Cause: "outage"}}))
	require.Positive(t, bytes(), "the measure sees a row")
}

func readNothing(t *testing.T, s driver.Session) {
	t.Helper()
	page, err := s.Read(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, driver.Page{Idle: page.Idle}, page)
}

// TestO15_OneWindowForMuch: a backlog is read as one window, and costs one position per page.
func TestO15_OneWindowForMuch(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	for range 50 {
		put(t, ob, "k", "x", "y")
	}
	windows := func() int64 { return query1[int64](t, db, "SELECT max(window_no) FROM leat.outbox_positions") }
	page, err := s.Read(t.Context(), 1000)
	require.NoError(t, err)
	require.Len(t, page.Records, 100)
	require.EqualValues(t, 1, windows())
	require.NoError(t, s.Advance(t.Context(), page, 100))
	require.Len(t, pending(t, db, "default"), 100, "a page that ends its window is stored with what comes next")
	readNothing(t, s)
	require.Empty(t, pending(t, db, "default"))
}

// TestO9_ZombieCannotOpen: a zombie that reads past the end of its window fails.
func TestO9_ZombieCannotOpen(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	zombie := acquire(t, ob, "")
	put(t, ob, "k", "1")
	exec(t, db, "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()")
	successor := acquire(t, ob, "")
	_, err := zombie.Read(t.Context(), 10)
	require.ErrorIs(t, err, driver.ErrLeaseLost)
	require.Equal(t, []string{"1"}, payloads(readAll(t, successor, 3)))
}

// TestAcquire checks what a source reports about a lease that another one holds, and about one that it has
// left behind itself.
func TestAcquire(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	ctx := t.Context()
	src := source(t, ob, "")
	s, err := src.Acquire(ctx, testLease)
	require.NoError(t, err)
	for name, other := range map[string]*pgoutbox.Source{"another": source(t, ob, ""), "itself": src} {
		_, err = other.Acquire(ctx, testLease)
		var held *driver.LeaseHeldError
		require.ErrorAs(t, err, &held, name)
		require.ErrorIs(t, err, driver.ErrLeaseHeld, name)
		require.NotEmpty(t, held.Owner)
		require.Positive(t, held.Remaining)
		require.LessOrEqual(t, held.Remaining, testLease)
	}
	_, err = s.Read(ctx, 10)
	require.NoError(t, err, "the session was not taken by its own source")
	require.NoError(t, s.Release(ctx))

	s, err = src.Acquire(ctx, testLease)
	require.NoError(t, err)
	lock := begin(t, ob, db).exec("SELECT FROM leat.outbox_leases FOR UPDATE") // so that the release hangs
	short, cancel := context.WithCancel(ctx)
	cancel()
	require.Error(t, s.Release(short))
	lock.rollback()
	again, err := src.Acquire(ctx, testLease)
	require.NoError(t, err, "what this very source has left behind")
	require.NoError(t, again.Release(ctx))
}

// TestAdvance_Nonsense: an impossible Advance is refused and changes nothing.
func TestAdvance_Nonsense(t *testing.T) {
	t.Parallel()
	ob, _ := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	put(t, ob, "k", "1", "2")
	page, err := s.Read(t.Context(), 10)
	require.NoError(t, err)
	for _, n := range []int{-1, 0, 3} {
		require.ErrorContains(t, s.Advance(t.Context(), page, n), "cannot settle")
	}
	require.ErrorContains(t, s.Advance(t.Context(), driver.Page{Records: page.Records}, 1), "cannot settle")
	require.NoError(t, s.Advance(t.Context(), page, 2))
	require.NoError(t, s.Advance(t.Context(), page, 2), "again")
	require.NoError(t, s.Advance(t.Context(), page, 1), "less again")
	require.Empty(t, readAll(t, s, 10))
}
