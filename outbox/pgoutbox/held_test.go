package pgoutbox_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// audit returns the audit as "action key".
func (h *holding) audit() []string {
	h.t.Helper()
	entries, err := h.ob.Admin().Audit(h.t.Context(), admin.AuditQuery{})
	require.NoError(h.t, err)
	var all []string
	for _, e := range entries {
		require.NotEmpty(h.t, e.Actor)
		require.NotEmpty(h.t, e.Reason)
		all = append(all, strings.TrimSpace(e.Action+" "+e.Key))
	}
	return all
}

// TestO2_HoldAgainChangesNothing: the answer to a Hold was lost, and Hold is called again, by the same
// session or after the position was read anew.
func TestO2_HoldAgainChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2", "3")
	page := h.page(3)
	fates := holdings(driver.FatePark, driver.FateWait)
	require.NoError(t, h.Hold(t.Context(), page, 2, fates))
	require.NoError(t, h.Hold(t.Context(), page, 2, fates))
	require.Equal(t, []string{"1 parked", "2 wait"}, h.held())
	require.Equal(t, []string{"park a"}, h.audit())
	require.Equal(t, []string{"3"}, h.pendingNow())
	third := []driver.Holding{{Index: 2, Fate: driver.FateWait}}
	require.NoError(t, h.Hold(t.Context(), page, 3, third))
	put(t, h.ob, "b", "4")
	require.Equal(t, []string{"4"}, payloads(readAll(t, h, 10)))
	require.NoError(t, h.Hold(t.Context(), page, 3, third), "of a window that is over")
	require.Equal(t, []string{"1 parked", "2 wait", "3 wait"}, h.held())
}

// TestO2_FailedHoldMovesNothing: a Hold that failed leaves the position unchanged, also when Release then
// stores what is settled.
func TestO2_FailedHoldMovesNothing(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1")
	page := h.page(1)
	exec(t, h.db, "ALTER TABLE leat.outbox_held RENAME TO gone")
	require.ErrorIs(t, h.Hold(t.Context(), page, 1, holdings(driver.FatePark)), outbox.ErrNotMigrated)
	exec(t, h.db, "ALTER TABLE leat.gone RENAME TO outbox_held")
	require.NoError(t, h.Release(t.Context()))
	require.Equal(t, []string{"1"}, h.pendingNow())
	require.Equal(t, []string{"1"}, payloads(readAll(t, acquire(t, h.ob, "default"), 10)))
}

// TestO4_HeldRecordsAreWhole: a record comes back exactly as it was set aside, after retry, park, redrive,
// death and another redrive.
func TestO4_HeldRecordsAreWhole(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	w := begin(t, h.ob, h.db)
	require.NoError(t, h.ob.Enqueue(t.Context(), w.Tx,
		outbox.Message{
			ID: "01J0B3V1MK1SVBHBJZ4AGXP5ZS", Topic: topic, Key: longKey(), Type: "placed",
			Payload: []byte{0, 1, 0xff}, Headers: map[string]string{"a": "<1>", "b": ""},
			OccurredAt: time.Date(2001, 2, 3, 4, 5, 6, 7000, time.UTC),
		},
		outbox.Message{Topic: topic},
	))
	w.commit()
	page := h.page(2)
	read := page.Records
	require.NoError(t, h.Hold(t.Context(), page, 2, holdings(driver.FateRetry, driver.FateRetry)))
	require.Equal(t, read, h.dueRecords())
	h.resolve(driver.FatePark, driver.FateDead)
	parked, err := h.ob.Admin().Held(t.Context(), admin.HeldQuery{State: admin.HeldParked})
	require.NoError(t, err)
	require.Len(t, parked, 1)
	require.Equal(t, read[0], parked[0].Record)
	dead, err := h.ob.Admin().Dead(t.Context(), admin.HeldQuery{})
	require.NoError(t, err)
	require.Len(t, dead, 1)
	require.Equal(t, read[1], dead[0].Record)
	for _, r := range read {
		changed, err := h.ob.Admin().Redrive(t.Context(), admin.ChangeRequest{By: people(), Selection: admin.Selection{ID: r.ID}})
		require.NoError(t, err)
		require.Equal(t, []string{r.ID}, changed.IDs)
	}
	require.Equal(t, read, h.dueRecords())
}

// longKey returns a key of the maximum length that does not compress, so that it is longer than an index
// entry can be.
func longKey() string {
	var b strings.Builder
	for sum := sha256.Sum256(nil); b.Len() < outbox.MaxKeyBytes; sum = sha256.Sum256(sum[:]) {
		b.WriteString(hex.EncodeToString(sum[:]))
	}
	return b.String()[:outbox.MaxKeyBytes]
}

// TestO2_ErrorsThatCannotBeStored: a broker's error text may contain anything, and must not prevent its
// record from being set aside.
func TestO2_ErrorsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1")
	fates := holdings(driver.FatePark)
	fates[0].Attempts[0].Error = "\x00\xff" + strings.Repeat("ü", 5000)
	fates[0].Reason = "\x00"
	require.NoError(t, h.Hold(t.Context(), h.page(1), 1, fates))
	parked, err := h.ob.Admin().Held(t.Context(), admin.HeldQuery{State: admin.HeldParked})
	require.NoError(t, err)
	require.Less(t, len(parked[0].Errors[0].Error), 2010)
	require.Equal(t, "\uFFFD", parked[0].Reason)
}
