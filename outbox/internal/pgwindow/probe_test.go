package pgwindow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// naive is a probe without its third clause.
func naive(p pgwindow.Probe, w pgwindow.Window) bool {
	return p.Sequence != w.SourceFloor || p.Ended
}

// TestO2_ProbeFindsXidAboveXmax: a transaction drew its number before the floor
// was read, and its xid is neither below the target's xmax nor in its xip.
func TestO2_ProbeFindsXidAboveXmax(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	retry(t, func() bool {
		w, late := unseen(t, s, db)
		late.commit()
		p := s.probe()
		require.True(t, p.New(w))
		// The naive probe sees nothing (negative control: the row would lie there until
		// the next one comes), unless somebody else's transaction has ended meanwhile.
		quiet := !naive(p, w)
		_, rows := s.opened()
		require.Equal(t, []string{"late"}, rows)
		return quiet
	})
}

// TestO2_LateRowsProveNothing: a row that comes late, and whose number was drawn before the
// newest F was read, does not show that the sequence was set back.
func TestO2_LateRowsProveNothing(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	c := preparedChain(t)
	_, late := unseen(t, s, db)
	late.commit()
	require.NoError(t, c.Contradicts(t.Context(), s.conn, s.lease.Slot.Group))
	w, err := c.Open(t.Context(), s.conn, s.lease, s.w, s.probe().Sequence)
	require.NoError(t, err)
	require.Equal(t, []string{"late"}, s.rows(w))
}

// TestO2_SetBackIsProvenByOneRow: the sequence was set back and has passed where it was. One
// row that has a number of before is in the log.
func TestO2_SetBackIsProvenByOneRow(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	c := preparedChain(t)
	put(t, db, "a")
	begin(t, db).put("undone", "undone").rollback()
	_, rows := s.opened()
	require.Equal(t, []string{"a"}, rows)
	s.open()
	s.open() // the floors have come to the last number
	_, err := db.Pool.Exec(t.Context(), "SELECT setval('leat.outbox_seq_seq', 1)")
	require.NoError(t, err)
	begin(t, db).put("undone").rollback()
	put(t, db, "of an old number", "of a new number")
	require.NoError(t, s.st.Raise(t.Context(), s.conn, s.lease, s.w.No, s.probe().Sequence)) // moves F, and not what was before it

	wrong := s.w
	wrong.Prev, wrong.Target, wrong.Floor = s.w.Target, snapshotNow(t, db), s.w.NextFloor
	require.NotContains(t, s.rows(wrong), "of an old number", "negative control: it is below the floor")
	require.ErrorIs(t, c.Contradicts(t.Context(), s.conn, s.lease.Slot.Group), basis.ErrNumberedTwice)
	require.NoError(t, c.Contradicts(t.Context(), s.conn, s.lease.Slot.Group, 7), "another slot")
	require.NoError(t, c.List(t.Context(), db.Pool, s.lease.Slot.Group, 1, nil))
	for range 2 {
		_, err = c.Open(t.Context(), s.conn, s.lease, s.w, s.probe().Sequence)
		require.ErrorIs(t, err, basis.ErrNumberedTwice)
		_, err = c.Next(t.Context(), s.conn, s.lease, s.w, s.probe().Sequence)
		require.ErrorIs(t, err, basis.ErrNumberedTwice)
	}
}

func snapshotNow(t *testing.T, db *testenv.Database) pgwindow.Snapshot {
	t.Helper()
	var text string
	require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT pg_current_snapshot()::text").Scan(&text))
	now, err := pgwindow.ParseSnapshot(text)
	require.NoError(t, err)
	return now
}

// TestO15_ProbeComesToRest: whatever happened before, an idle log costs no more
// windows after a few.
func TestO15_ProbeComesToRest(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	put(t, db, "a")
	early := begin(t, db).put("early")
	_, rows := s.opened()
	require.Equal(t, []string{"a"}, rows)
	early.commit()
	put(t, db, "b")
	_, rows = s.opened()
	require.Equal(t, []string{"early", "b"}, rows)

	// Transactions elsewhere in the cluster may end, which costs a window each;
	// when none did, there is none.
	retry(t, func() bool {
		n, rows := s.opened()
		require.Empty(t, rows)
		return n == 0 && !s.probe().New(s.w)
	})
}

// TestO11_OpenTransactionCostsNoWindows: a transaction that stays open is not
// something new each time.
func TestO11_OpenTransactionCostsNoWindows(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	open := begin(t, db).put("open")
	defer open.rollback()
	retry(t, func() bool {
		n, rows := s.opened()
		require.Empty(t, rows)
		return n == 0 && !s.probe().New(s.w)
	})
	for i := range 5 {
		put(t, db, "a")
		n, rows := s.opened()
		require.Equal(t, []string{"a"}, rows, "round %d", i)
		require.Positive(t, n)
	}
}

func TestProbe_New(t *testing.T) {
	t.Parallel()
	at := func(source, next int64, openedBy, xmax uint64) pgwindow.Window {
		return pgwindow.Window{SourceFloor: source, NextFloor: next, OpenedBy: openedBy, Target: pgwindow.Snapshot{Xmax: xmax}}
	}
	for name, c := range map[string]struct {
		probe pgwindow.Probe
		w     pgwindow.Window
		want  bool
	}{
		"rest":                               {pgwindow.Probe{Sequence: 5}, at(5, 5, 20, 10), false},
		"sequence moved":                     {pgwindow.Probe{Sequence: 6}, at(5, 5, 10, 10), true},
		"transaction ended":                  {pgwindow.Probe{Sequence: 5, Ended: true}, at(5, 5, 10, 10), true},
		"floor moved, nobody between":        {pgwindow.Probe{Sequence: 5}, at(5, 4, 10, 10), false},
		"floor moved, somebody between":      {pgwindow.Probe{Sequence: 5}, at(5, 4, 11, 10), true},
		"floor at rest, somebody in between": {pgwindow.Probe{Sequence: 5}, at(5, 5, 11, 10), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, c.probe.New(c.w))
		})
	}
}
