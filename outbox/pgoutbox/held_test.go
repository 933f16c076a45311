package pgoutbox_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// TestO2_HoldSettlesThePage: what is held, dead or skipped is stored with the
// position, and nothing is pending any more.
func TestO2_HoldSettlesThePage(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2")
	put(t, h.ob, "b", "3")
	put(t, h.ob, "c", "4")
	put(t, h.ob, "", "5", "6")
	h.hold(driver.FateRetry, driver.FateWait, driver.FateDead, driver.FateSkip, driver.FateRetry, driver.FateDelivered)
	require.Empty(t, h.pendingNow())
	require.Equal(t, []string{"1 retry", "2 wait"}, h.held("a"))
	require.Equal(t, []string{"1", "2", "5"}, h.due())

	keys, err := h.HeldKeys(t.Context())
	require.NoError(t, err)
	require.Equal(t, []driver.Key{keyNamed("a")}, keys)

	dead, err := h.ob.Dead(t.Context(), admin.HeldQuery{})
	require.NoError(t, err)
	require.Len(t, dead, 1)
	require.Equal(t, "3", string(dead[0].Payload))
	require.Equal(t, "it was refused", dead[0].Reason)
	require.Equal(t, "refused", dead[0].Errors[0].Error)
	require.Equal(t, h.Epoch(), dead[0].Errors[0].Epoch)
	require.Equal(t, []string{"dead b", "skip c"}, h.audit())

	require.Equal(t, []driver.Key{keyNamed("a")}, h.resolve(driver.FateDelivered, driver.FateDelivered, driver.FateDelivered))
	require.Empty(t, h.due())
	require.NoError(t, h.Release(t.Context()))
	require.Empty(t, readAll(t, acquire(t, h.ob, "default"), 10), "a new session does not read it again")
}

// audit shows the audit, as "action key".
func (h *holding) audit() []string {
	h.t.Helper()
	entries, err := h.ob.Audit(h.t.Context(), admin.AuditQuery{})
	require.NoError(h.t, err)
	var all []string
	for _, e := range entries {
		require.NotEmpty(h.t, e.Actor)
		require.NotEmpty(h.t, e.Reason)
		all = append(all, strings.TrimSpace(e.Action+" "+e.Key))
	}
	return all
}

// TestO2_HoldAgainChangesNothing: the answer to a Hold was lost, and it is called
// again, by the same session or after its position was read anew.
func TestO2_HoldAgainChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2", "3")
	page := h.page(3)
	fates := holdings(driver.FatePark, driver.FateWait)
	require.NoError(t, h.Hold(t.Context(), page, 2, fates))
	require.NoError(t, h.Hold(t.Context(), page, 2, fates))
	require.Equal(t, []string{"1 parked", "2 wait"}, h.held("a"))
	require.Equal(t, []string{"park a"}, h.audit())
	require.Equal(t, []string{"3"}, h.pendingNow())
	third := []driver.Holding{{Index: 2, Fate: driver.FateWait}}
	require.NoError(t, h.Hold(t.Context(), page, 3, third))
	put(t, h.ob, "b", "4")
	require.Equal(t, []string{"4"}, payloads(readAll(t, h, 10)))
	require.NoError(t, h.Hold(t.Context(), page, 3, third), "of a window that is over")
	require.Equal(t, []string{"1 parked", "2 wait", "3 wait"}, h.held("a"))
}

// TestO2_FailedHoldMovesNothing: a Hold that failed leaves the position where it
// was, also for a Release that stores what is settled.
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

// TestO4_HeldRecordsAreWhole: what comes back is what was set aside, through
// retry, park, redrive, death and redrive again.
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
	parked, err := h.ob.Held(t.Context(), admin.HeldQuery{State: admin.HeldParked})
	require.NoError(t, err)
	require.Len(t, parked, 1)
	require.Equal(t, read[0], parked[0].Record)
	dead, err := h.ob.Dead(t.Context(), admin.HeldQuery{})
	require.NoError(t, err)
	require.Len(t, dead, 1)
	require.Equal(t, read[1], dead[0].Record)
	for _, r := range read {
		changed, err := h.ob.Redrive(t.Context(), admin.ChangeRequest{By: people(), Selection: admin.Selection{ID: r.ID}})
		require.NoError(t, err)
		require.Equal(t, []string{r.ID}, changed.IDs)
	}
	require.Equal(t, read, h.dueRecords())
}

// longKey is as long as a key may be, and does not compress: longer than an entry of
// an index.
func longKey() string {
	var b strings.Builder
	for sum := sha256.Sum256(nil); b.Len() < outbox.MaxKeyBytes; sum = sha256.Sum256(sum[:]) {
		b.WriteString(hex.EncodeToString(sum[:]))
	}
	return b.String()[:outbox.MaxKeyBytes]
}

// TestO6_NothingPassesAParkedRecord: followers queue behind it, are never due, and
// come in order once it is redriven.
func TestO6_NothingPassesAParkedRecord(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2")
	put(t, h.ob, "b", "3")
	h.hold(driver.FatePark, driver.FateWait, driver.FateRetry)
	put(t, h.ob, "a", "4")
	h.hold(driver.FateWait)
	require.Equal(t, []string{"3"}, h.due())
	parked, err := h.ob.Held(t.Context(), admin.HeldQuery{State: admin.HeldParked})
	require.NoError(t, err)
	require.Len(t, parked, 3)
	require.False(t, parked[0].Waits)
	require.True(t, parked[2].Waits)
	require.Equal(t, 1, parked[0].Attempts)

	require.Equal(t, 1, h.redrive("a").Count)
	require.Equal(t, []string{"1", "2", "3", "4"}, h.due())
	held, err := h.Due(t.Context(), 100, nil)
	require.NoError(t, err)
	require.Zero(t, held[0].Attempts, "redriven")

	// The first fails again: what was not told of stays, and waits.
	h.resolve(driver.FatePark)
	require.Equal(t, []string{"3"}, h.due())
	require.Equal(t, []string{"1 parked", "2 wait", "4 wait"}, h.held("a"))
	require.Equal(t, "refused, refused again", query1[string](t, h.db, `
		SELECT concat_ws(', ', errors -> 0 ->> 'error', errors -> 1 ->> 'error') FROM leat.outbox_held WHERE state = 'parked'`))
}

// TestO6_NextIsDueWhereTheFirstLeaves is true of every way to leave.
func TestO6_NextIsDueWhereTheFirstLeaves(t *testing.T) {
	t.Parallel()
	for _, fate := range []driver.Fate{driver.FateDelivered, driver.FateDead, driver.FateSkip} {
		t.Run(fate.String(), func(t *testing.T) {
			t.Parallel()
			h := newHolding(t)
			put(t, h.ob, "a", "1", "2", "3")
			h.hold(driver.FateRetry, driver.FateWait, driver.FateWait)
			require.Equal(t, []string{"1", "2", "3"}, h.due())
			require.Empty(t, h.resolve(fate))
			require.Equal(t, []string{"2 retry", "3 wait"}, h.held("a"))
			require.Equal(t, []string{"2", "3"}, h.due())
			require.Equal(t, []driver.Key{keyNamed("a")}, h.resolve(fate, fate))
			require.Empty(t, h.held("a"))
		})
	}
}

// TestO6_RetryWaitsForItsTime: neither a record that is tried later nor what waits
// behind it is due, and no topic that is left out.
func TestO6_RetryWaitsForItsTime(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2")
	put(t, h.ob, "b", "3")
	page := h.page(3)
	fates := holdings(driver.FateRetry, driver.FateWait, driver.FateRetry)
	fates[0].RetryIn = time.Hour
	require.NoError(t, h.Hold(t.Context(), page, 3, fates))
	require.Equal(t, []string{"3"}, h.due())
	require.Empty(t, h.due(topic))
	exec(t, h.db, "UPDATE leat.outbox_held SET next_at = next_at - interval '1 h' WHERE state = 'retry'")
	require.Equal(t, []string{"1", "2", "3"}, h.due("another"))
	one, err := h.Due(t.Context(), 1, nil)
	require.NoError(t, err)
	require.Len(t, one, 1)
}

// TestO2_ErrorsThatCannotBeStored: what a broker says may hold anything, and must
// not keep its record from being set aside.
func TestO2_ErrorsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1")
	fates := holdings(driver.FatePark)
	fates[0].Attempts[0].Error = "\x00\xff" + strings.Repeat("ü", 5000)
	fates[0].Reason = "\x00"
	require.NoError(t, h.Hold(t.Context(), h.page(1), 1, fates))
	parked, err := h.ob.Held(t.Context(), admin.HeldQuery{State: admin.HeldParked})
	require.NoError(t, err)
	require.Less(t, len(parked[0].Errors[0].Error), 2010)
	require.Equal(t, "\uFFFD", parked[0].Reason)
}

// TestO2_ErrorsAreBounded: a record that blocks its key for good is tried for good.
func TestO2_ErrorsAreBounded(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1")
	h.hold(driver.FateRetry)
	for range 110 {
		h.resolve(driver.FateRetry)
	}
	require.Equal(t, 100, query1[int](t, h.db, "SELECT jsonb_array_length(errors) FROM leat.outbox_held"))
	require.Equal(t, 111, query1[int](t, h.db, "SELECT attempts FROM leat.outbox_held"))
}

// TestO9_StaleHolderChangesNothing: a relay whose lease was taken over can neither
// hold nor resolve.
func TestO9_StaleHolderChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2")
	page := h.page(2)
	require.NoError(t, h.Hold(t.Context(), page, 1, holdings(driver.FateRetry)))
	due, err := h.Due(t.Context(), 10, nil)
	require.NoError(t, err)
	takeOver(t, h.db)
	before := h.everything()
	require.ErrorIs(t, h.Hold(t.Context(), page, 2, []driver.Holding{{Index: 1, Fate: driver.FateSkip, Reason: "no"}}), driver.ErrLeaseLost)
	_, err = h.Resolve(t.Context(), verdicts(due, driver.FateDead))
	require.ErrorIs(t, err, driver.ErrLeaseLost)
	require.Equal(t, before, h.everything())
}

// takeOver gives the lease to another relay.
func takeOver(t *testing.T, db *testenv.Database) {
	t.Helper()
	exec(t, db, "UPDATE leat.outbox_leases SET owner = 'another', epoch = epoch + 1")
}

// everything is all that a relay can write.
func (h *holding) everything() string {
	h.t.Helper()
	return query1[string](h.t, h.db, `SELECT concat_ws(' | ',
		(SELECT string_agg(x::text, ', ') FROM leat.outbox_held x), (SELECT string_agg(x::text, ', ') FROM leat.outbox_dead x),
		(SELECT string_agg(x::text, ', ') FROM leat.outbox_audit x), (SELECT string_agg(x::text, ', ') FROM leat.outbox_positions x))`)
}
