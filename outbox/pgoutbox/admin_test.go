package pgoutbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// TestO6_RedrivenDeadWhileTheFirstIsOnItsWay: an earlier record of a key is redriven while the relay is
// sending a later one. When the later one fails, it waits for the earlier.
func TestO6_RedrivenDeadWhileTheFirstIsOnItsWay(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2")
	h.hold(driver.FateDead, driver.FateRetry)
	held, err := h.Due(t.Context(), 10, nil)
	require.NoError(t, err)
	_, err = h.ob.Admin().Redrive(t.Context(), admin.ChangeRequest{By: people(), Selection: admin.Selection{Topic: topic, Key: "a", Dead: true}})
	require.NoError(t, err)
	_, err = h.Resolve(t.Context(), verdicts(held, driver.FateRetry))
	require.NoError(t, err)
	require.Equal(t, []string{"1 retry", "2 wait"}, h.held())
}

func (h *holding) owner() string {
	h.t.Helper()
	return query1[string](h.t, h.db, "SELECT owner FROM leat.outbox_leases")
}

// TestAdmin_GroupsAreApart: what one group has set aside does not affect other groups.
func TestAdmin_GroupsAreApart(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	other := holdingOf(t, h.ob, h.db, "other")
	put(t, h.ob, "a", "1")
	h.hold(driver.FatePark)
	other.hold(driver.FateRetry)
	_, err := h.ob.Admin().Redrive(t.Context(), admin.ChangeRequest{By: people(), Group: "other", Selection: admin.Selection{Topic: topic, Key: "a"}})
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, other.due())
	require.Empty(t, h.due())
	require.Equal(t, []driver.Key{keyNamed("a")}, other.resolve(driver.FateDelivered))
	require.Equal(t, []string{"1 parked"}, h.held())
}
