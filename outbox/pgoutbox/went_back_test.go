package pgoutbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// relayed returns an outbox with five relayed messages.
func relayed(t *testing.T) (*pgoutbox.Outbox, *testenv.Database) {
	t.Helper()
	ob, db := smallRanges(t)
	put(t, ob, "k", "a", "b", "c", "d", "e")
	s := acquire(t, ob, "")
	require.Len(t, readAll(t, s, 10), 5)
	require.Empty(t, readAll(t, s, 10))
	require.NoError(t, s.Release(t.Context()))
	return ob, db
}

// requireProblem requires that status and Stats count everything in the log, and that maintenance deletes
// nothing (D2, D8).
func requireProblem(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database, problem string, waiting int) {
	t.Helper()
	slot := statsOf(t, ob).Groups[0].Slots[0]
	require.Contains(t, slot.Problem, problem)
	require.EqualValues(t, waiting, slot.Backlog)
	require.Positive(t, slot.Lag)
	require.Len(t, pending(t, db, "default"), waiting)
	for _, noDDL := range []bool{false, true} {
		cfg := atOnce()
		cfg.NoDDL = noDDL
		report := once(t, maintenance(t, ob, cfg))
		require.Empty(t, report.Dropped)
		require.Zero(t, report.Deleted)
		require.Len(t, report.Alarms, 1)
		require.Equal(t, pgoutbox.AlarmPositionUnusable, report.Alarms[0].Kind)
		require.Equal(t, "default", report.Alarms[0].Group)
		require.Contains(t, report.Alarms[0].Detail, problem)
	}
	require.Equal(t, waiting, stored(t, db))
}

// TestO2_TruncatedLogIsRefused: D3, D8: the numbers began anew while no relay was running, and have passed
// the position since.
func TestO2_TruncatedLogIsRefused(t *testing.T) {
	t.Parallel()
	ob, db := relayed(t)
	require.Empty(t, statsOf(t, ob).Groups[0].Slots[0].Problem)
	exec(t, db, "TRUNCATE leat.outbox RESTART IDENTITY")
	putMany(t, ob, 0, 25)
	src := source(t, ob, "")
	for range 3 {
		refused(t, src.Check(t.Context()), basis.ErrLogRestarted)
		_, err := src.Acquire(t.Context(), testLease)
		refused(t, err, basis.ErrLogRestarted)
	}
	requireProblem(t, ob, db, basis.ErrLogRestarted.Says, 25)
	require.ErrorIs(t, ob.Rebase(t.Context(), pgoutbox.RebaseRequest{KeepPosition: true, Actor: "me", Reason: "r"}), basis.ErrNumberedTwice)
	require.NoError(t, ob.Rebase(t.Context(), rebaseTo(driver.Start{Oldest: true})))
	require.Len(t, readAll(t, acquire(t, ob, ""), 100), 25)
	require.Empty(t, statsOf(t, ob).Groups[0].Slots[0].Problem)
}

// TestO2_NumbersThatBeganAnewAreRefused: D3: the sequence was set back by hand, which leaves its file in
// place. The rows of the log then contradict the position.
func TestO2_NumbersThatBeganAnewAreRefused(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{
		"of a noted log": "SELECT 1",
		"not noted":      "UPDATE leat.outbox_groups SET incarnation = NULL",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := relayed(t)
			exec(t, db, before)
			exec(t, db, "TRUNCATE leat.outbox; SELECT setval('leat.outbox_seq_seq', 1, false)")
			putMany(t, ob, 0, 25)
			_, err := source(t, ob, "").Acquire(t.Context(), testLease)
			refused(t, err, basis.ErrNumberedTwice)
			require.ErrorIs(t, ob.Rebase(t.Context(), pgoutbox.RebaseRequest{KeepPosition: true, Actor: "me", Reason: "r"}), basis.ErrNumberedTwice)
			require.NoError(t, ob.Rebase(t.Context(), rebaseTo(driver.Start{Oldest: true})))
			require.Len(t, readAll(t, acquire(t, ob, ""), 100), 25)
		})
	}
}

// TestO2_SequenceSetBackIsSeenWithoutARelay: numbers that were rolled back are given out again, and have
// passed the position since. Operators see it without a relay, and maintenance deletes nothing.
func TestO2_SequenceSetBackIsSeenWithoutARelay(t *testing.T) {
	t.Parallel()
	ob, db := relayed(t)
	exec(t, db, "SELECT nextval('leat.outbox_seq_seq') FROM generate_series(1, 30)")
	s := acquire(t, ob, "")
	put(t, ob, "k", "read")
	require.Len(t, readAll(t, s, 100), 1)
	require.NoError(t, s.Release(t.Context()))
	require.Empty(t, statsOf(t, ob).Groups[0].Slots[0].Problem)
	exec(t, db, "DELETE FROM leat.outbox")
	exec(t, db, "SELECT setval('leat.outbox_seq_seq', 5)")
	putMany(t, ob, 0, 20)
	requireProblem(t, ob, db, basis.ErrWentBack.Says, 20)
	putMany(t, ob, 20, 60)
	requireProblem(t, ob, db, basis.ErrNumberedTwice.Says, 80)
	_, err := source(t, ob, "").Acquire(t.Context(), testLease)
	refused(t, err, basis.ErrNumberedTwice)
	require.NoError(t, ob.Rebase(t.Context(), rebaseTo(driver.Start{Oldest: true})))
	require.Len(t, readAll(t, acquire(t, ob, ""), 100), 80)
	require.Empty(t, statsOf(t, ob).Groups[0].Slots[0].Problem)
}

// TestO5_SequenceSetBackUnderAnOpenTransaction: a row of a transaction that was open when the sequence was
// set back has a higher number than the next row of its key, and both are in one window. Neither is below
// a floor, so both would be read, in the wrong order.
func TestO5_SequenceSetBackUnderAnOpenTransaction(t *testing.T) {
	t.Parallel()
	ob, db := relayed(t)
	s := acquire(t, ob, "")
	begin(t, ob, db).put("k", "undone").rollback()
	open := begin(t, ob, db).put("k", "first")
	require.Empty(t, readAll(t, s, 10))
	exec(t, db, "SELECT setval('leat.outbox_seq_seq', max(seq)) FROM leat.outbox")
	open.commit()
	put(t, ob, "k", "second")
	_, err := db.Pool.Exec(t.Context(), "SELECT nextval('leat.outbox_seq_seq')") // the number of the first is taken
	require.NoError(t, err)
	_, err = s.Read(t.Context(), 10)
	refused(t, err, basis.ErrNumberedTwice)
	require.NoError(t, s.Release(t.Context()))
}

// TestO2_TruncateUnderARelay: D3: a running relay notices it, whatever numbers the sequence has reached.
func TestO2_TruncateUnderARelay(t *testing.T) {
	t.Parallel()
	ob, db := relayed(t)
	s := acquire(t, ob, "")
	put(t, ob, "k", "f")
	require.Len(t, readAll(t, s, 10), 1)
	exec(t, db, "TRUNCATE leat.outbox RESTART IDENTITY")
	putMany(t, ob, 0, 25)
	_, err := s.Read(t.Context(), 100)
	refused(t, err, basis.ErrLogRestarted)
	require.NoError(t, s.Release(t.Context()))
	_, err = source(t, ob, "").Acquire(t.Context(), testLease)
	refused(t, err, basis.ErrLogRestarted)
}

// TestO2_NumbersThatBeganHigher: D3: no row contradicts the position, but the sequence is a different one.
func TestO2_NumbersThatBeganHigher(t *testing.T) {
	t.Parallel()
	ob, db := relayed(t)
	s := acquire(t, ob, "")
	exec(t, db, "TRUNCATE leat.outbox RESTART IDENTITY; SELECT setval('leat.outbox_seq_seq', 100)")
	put(t, ob, "k", "f")
	_, err := s.Read(t.Context(), 100)
	refused(t, err, basis.ErrLogRestarted)
	require.NoError(t, s.Release(t.Context()))
	refused(t, source(t, ob, "").Check(t.Context()), basis.ErrLogRestarted)
}

// TestO2_PlainTruncate: D3: without RESTART IDENTITY the numbers continue, and so does the relay. The
// waiting messages are gone, as the operator wanted.
func TestO2_PlainTruncate(t *testing.T) {
	t.Parallel()
	ob, db := relayed(t)
	put(t, ob, "k", "gone")
	exec(t, db, "TRUNCATE leat.outbox")
	put(t, ob, "k", "f")
	require.NoError(t, source(t, ob, "").Check(t.Context()))
	require.Equal(t, []string{"f"}, payloads(readAll(t, acquire(t, ob, ""), 10)))
}

// TestO2_SameLogAfterUpkeep: D3: ordinary upkeep of a log does not change the meaning of a position.
func TestO2_SameLogAfterUpkeep(t *testing.T) {
	t.Parallel()
	ob, db := relayed(t)
	for _, upkeep := range []string{
		"VACUUM FULL leat.outbox_p1", "CLUSTER leat.outbox_p1 USING outbox_p1_pkey", "REINDEX TABLE leat.outbox",
		"SELECT setval('leat.outbox_seq_seq', 100)", "ALTER TABLE leat.outbox SET SCHEMA public", "ALTER TABLE outbox SET SCHEMA leat",
	} {
		exec(t, db, upkeep)
	}
	put(t, ob, "k", "f")
	require.Equal(t, []string{"f"}, payloads(readAll(t, acquire(t, ob, ""), 10)))
}

// TestO2_PositionWithoutANote: D3: a position that does not identify its log is adopted once.
func TestO2_PositionWithoutANote(t *testing.T) {
	t.Parallel()
	ob, db := relayed(t)
	exec(t, db, "UPDATE leat.outbox_groups SET incarnation = NULL")
	put(t, ob, "k", "f")
	s := acquire(t, ob, "")
	require.Equal(t, []string{"f"}, payloads(readAll(t, s, 10)))
	require.NoError(t, s.Release(t.Context()))
	exec(t, db, "TRUNCATE leat.outbox RESTART IDENTITY")
	putMany(t, ob, 0, 25)
	refused(t, source(t, ob, "").Check(t.Context()), basis.ErrLogRestarted)
}

// TestO2_NobodyDeletesByAForeignPosition: D2, D8: after a restore into another cluster, while relays
// refuse to run, maintenance deletes nothing, even for a group that is past its greatest lag.
func TestO2_NobodyDeletesByAForeignPosition(t *testing.T) {
	t.Parallel()
	for fact, spoil := range map[*basis.FactError]string{
		basis.ErrOtherCluster: "UPDATE leat.outbox_positions SET system_identifier = system_identifier + 1",
		basis.ErrWentBack:     "SELECT setval('leat.outbox_seq_seq', 2)",
		basis.ErrLogRestarted: "ALTER SEQUENCE leat.outbox_seq_seq RESTART WITH 100",
	} {
		t.Run(fact.Name, func(t *testing.T) {
			t.Parallel()
			ob, db := relayed(t)
			by := admin.By{Actor: "me", Reason: "r"}
			require.NoError(t, ob.Admin().SetMaxLag(t.Context(), admin.MaxLagRequest{By: by, Group: "default", MaxLag: time.Millisecond}))
			age(t, db, "1 day")
			exec(t, db, spoil)
			requireProblem(t, ob, db, fact.Says, 5)
			require.ErrorIs(t, source(t, ob, "").Check(t.Context()), driver.ErrSourceUnusable)
		})
	}
}
