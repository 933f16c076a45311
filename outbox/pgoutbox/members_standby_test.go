package pgoutbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestMembers_StandbyIsSeen: of a group with one slot the leader writes no row of its own, and
// the relay that stands by is counted.
func TestMembers_StandbyIsSeen(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	leader, standby := sourceOf(t, ob, pgoutbox.SourceConfig{}), sourceOf(t, ob, pgoutbox.SourceConfig{})
	share := func(s driver.Source) {
		t.Helper()
		sharded, ok := s.(driver.Sharded)
		require.True(t, ok)
		got, err := sharded.Share(t.Context(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, 1, got.Slots)
	}
	share(leader)
	s, err := leader.Acquire(t.Context(), time.Minute)
	require.NoError(t, err)
	share(leader)
	require.Zero(t, query1[int](t, db, "SELECT count(*) FROM leat.outbox_members"), "nothing is written by a leader that is alone")
	share(standby)
	_, err = standby.Acquire(t.Context(), time.Minute)
	require.ErrorIs(t, err, driver.ErrLeaseHeld)
	share(leader)
	groups, err := ob.Admin().Groups(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, groups[0].Relays)
	require.Equal(t, 1, query1[int](t, db, "SELECT count(*) FROM leat.outbox_members"))
	require.NoError(t, s.Release(t.Context()))
}
