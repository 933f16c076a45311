package pgoutbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO14_ClockSetBack: relays that were killed while the clock was an hour ahead do not count as alive,
// and do not block a change of the slots.
func TestO14_ClockSetBack(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	share := func(slots int) driver.Share {
		t.Helper()
		got, err := sourceOf(t, ob, pgoutbox.SourceConfig{Slots: slots}).Share(t.Context(), time.Minute)
		require.NoError(t, err)
		return got
	}
	src := sourceOf(t, ob, pgoutbox.SourceConfig{Slots: 2})
	dead := acquireFrom(t, src)
	share(2)
	require.Equal(t, 1, share(2).Fair, "two relays live")
	exec(t, db, "UPDATE leat.outbox_leases SET lease_from = lease_from + interval '1 hour', lease_until = lease_until + interval '1 hour'")
	exec(t, db, "UPDATE leat.outbox_members SET seen_from = seen_from + interval '1 hour', seen_until = seen_until + interval '1 hour', since = since + interval '1 hour'")
	groups, err := ob.Admin().Groups(t.Context())
	require.NoError(t, err)
	require.Zero(t, groups[0].Relays)
	require.Zero(t, groups[0].Leases)
	members, err := ob.Admin().Members(t.Context(), "default")
	require.NoError(t, err)
	require.Empty(t, members)
	stats, err := ob.Admin().Stats(t.Context())
	require.NoError(t, err)
	for _, slot := range stats.Groups[0].Slots {
		require.Zero(t, slot.LeaseLeft)
	}
	require.Equal(t, 2, share(2).Fair)
	acquireFrom(t, src)
	acquireFrom(t, src)
	require.ErrorIs(t, dead.Renew(t.Context(), time.Minute), driver.ErrLeaseLost)
}

// TestMembers_StandbyIsSeen: in a group with one slot, the leader writes no member row, and the standby
// relay is counted.
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
