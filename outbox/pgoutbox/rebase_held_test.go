package pgoutbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// TestO2_NumbersOfAFormerLog: the numbers began anew, and records of the former log are still held or
// dead. A new record with such a number that has to be set aside is neither skipped nor stored instead of
// the older one: its page waits until an operator has dropped the older record.
func TestO2_NumbersOfAFormerLog(t *testing.T) {
	t.Parallel()
	for name, fate := range map[string]driver.Fate{"held": driver.FatePark, "dead": driver.FateDead} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHolding(t)
			put(t, h.ob, "old", "1")
			h.hold(fate)
			require.NoError(t, h.Release(t.Context()))
			exec(t, h.db, "TRUNCATE leat.outbox RESTART IDENTITY")
			require.NoError(t, h.ob.Rebase(t.Context(), rebaseTo(driver.Start{Oldest: true})))
			put(t, h.ob, "new", "2")

			h = holdingOf(t, h.ob, h.db, "default")
			page := h.page(1)
			err := h.Hold(t.Context(), page, 1, holdings(fate))
			require.ErrorIs(t, err, heldqueue.ErrNumberTaken)
			require.NoError(t, h.Release(t.Context()))
			require.Equal(t, []string{"2"}, h.pendingNow())

			dropped, err := h.ob.Admin().Drop(t.Context(), admin.ChangeRequest{
				Group: "default", Selection: admin.Selection{Topic: topic, Key: "old", Dead: fate == driver.FateDead}, By: people(),
			})
			require.NoError(t, err)
			require.Equal(t, 1, dropped.Count)
			h = holdingOf(t, h.ob, h.db, "default")
			h.hold(fate)
			require.Empty(t, h.pendingNow())
		})
	}
}

// TestO2_DeadUnderATakenNumber: a held record dies, and a dead one is redriven, while another record
// already has its number there.
func TestO2_DeadUnderATakenNumber(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "old", "1")
	h.hold(driver.FateDead)
	require.NoError(t, h.Release(t.Context()))
	exec(t, h.db, "TRUNCATE leat.outbox RESTART IDENTITY")
	require.NoError(t, h.ob.Rebase(t.Context(), rebaseTo(driver.Start{Oldest: true})))
	put(t, h.ob, "new", "2")
	h = holdingOf(t, h.ob, h.db, "default")
	h.hold(driver.FateRetry)

	held, err := h.Due(t.Context(), 100, nil)
	require.NoError(t, err)
	_, err = h.Resolve(t.Context(), verdicts(held, driver.FateDead))
	require.ErrorIs(t, err, heldqueue.ErrNumberTaken)
	require.NoError(t, h.Release(t.Context()))
	_, err = h.ob.Admin().Redrive(t.Context(), admin.ChangeRequest{Group: "default", Selection: admin.Selection{Topic: topic, Key: "old", Dead: true}, By: people()})
	require.ErrorIs(t, err, heldqueue.ErrNumberTaken)
	h = holdingOf(t, h.ob, h.db, "default")
	require.Equal(t, []string{"2"}, h.due(), "still held")
	require.Equal(t, 1, query1[int](t, h.db, "SELECT count(*)::int FROM leat.outbox_dead"), "still dead")
}
