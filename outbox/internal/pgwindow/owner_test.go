package pgwindow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/driver"
)

// TestO9_EpochIssuedTwice: a server that forgot a claim in a crash gives its epoch out
// again. Every write tells the two holders apart by their names.
func TestO9_EpochIssuedTwice(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	put(t, db, "a", "b")
	w := s.open()
	twin := s.lease
	twin.Owner = "twin"

	ctx := t.Context()
	require.ErrorIs(t, s.st.Advance(ctx, s.conn, twin, w.No, 1), driver.ErrLeaseLost)
	require.ErrorIs(t, s.st.Raise(ctx, s.conn, twin, w.No, w.SourceFloor+1), driver.ErrLeaseLost)
	_, err := s.st.Open(ctx, s.conn, twin, w, w.SourceFloor)
	require.ErrorIs(t, err, driver.ErrLeaseLost)
	require.NoError(t, s.leases.Release(ctx, s.conn, twin))

	stored, err := s.st.Load(ctx, s.conn, s.lease.Slot)
	require.NoError(t, err)
	require.Equal(t, w, stored)
	require.NoError(t, s.leases.Renew(ctx, s.conn, s.lease, ttl), "the lease was not given up")
	require.NoError(t, s.st.Advance(ctx, s.conn, s.lease, w.No, 1), "its holder still writes")
}
