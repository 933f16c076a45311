package pgwindow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// raise raises the F of the newest window as a reader with a backlog does.
func (s *stepper) raise() {
	s.t.Helper()
	require.NoError(s.t, s.st.Raise(s.t.Context(), s.conn, s.lease, s.w.No, s.probe().Sequence))
	s.load()
}

// load reads the position again, as a reader does that starts.
func (s *stepper) load() {
	s.t.Helper()
	w, err := s.st.Load(s.t.Context(), s.conn, s.lease.Slot)
	require.NoError(s.t, err)
	s.w = w
}

// TestO11_RaisedFloorSkipsTheBacklog: the window behind a backlog starts past it
// and not before it, and finds what was under way.
func TestO11_RaisedFloorSkipsTheBacklog(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	s.opened()
	put(t, db, "1", "2", "3")
	s.raise()
	require.Equal(t, []string{"1", "2", "3"}, s.rows(s.open()))
	w, late := unseen(t, s, db)
	late.commit()
	next := s.open()
	require.GreaterOrEqual(t, w.Floor, int64(3))
	require.GreaterOrEqual(t, next.Floor, int64(3))
	require.Equal(t, []string{"late"}, append(s.rows(w), s.rows(next)...))
}

// TestO2_RaisedFloorAndALateRow: a number was drawn before the floor was raised,
// by a transaction that no snapshot lists.
func TestO2_RaisedFloorAndALateRow(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	s.opened()
	late := begin(t, db).put("late")
	s.raise()
	first := s.open()
	late.commit()
	second := s.open()
	require.Equal(t, []string{"late"}, append(s.rows(first), s.rows(second)...))
}

// TestO2_DiesBetweenRaiseAndOpen: the sequence is not ahead of the window any
// more, and yet there is something new.
func TestO2_DiesBetweenRaiseAndOpen(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	s.opened()
	opened := s.w.OpenedBy
	put(t, db, "a")
	s.raise()
	p := s.probe()
	require.Equal(t, p.Sequence, s.w.SourceFloor)
	wrong := s.w
	wrong.OpenedBy = min(opened, s.w.Target.Xmax) // had the raise not stored its own xid
	require.False(t, pgwindow.Probe{Sequence: p.Sequence}.New(wrong), "negative control")
	require.True(t, p.New(s.w))
	_, rows := s.opened()
	require.Equal(t, []string{"a"}, rows)
}

// TestO9_RaiseIsFenced like every position write.
func TestO9_RaiseIsFenced(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	put(t, db, "a", "b")
	s.open()
	ctx := t.Context()
	require.ErrorIs(t, s.st.Raise(ctx, s.conn, s.lease, s.w.No, 1), driver.ErrLeaseLost, "it would go back")
	require.ErrorIs(t, s.st.Raise(ctx, s.conn, s.lease, s.w.No+1, 9), driver.ErrLeaseLost, "another window")
	takeOver(t, db, s)
	require.ErrorIs(t, s.st.Raise(ctx, s.conn, s.lease, s.w.No, 9), driver.ErrLeaseLost)
}
