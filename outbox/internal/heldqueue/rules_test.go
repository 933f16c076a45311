package heldqueue_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// held holds records of key k, one for each fate.
func held(t *testing.T, fates ...driver.Fate) (*memory, []outbox.Record) {
	t.Helper()
	m := newMemory()
	var records []outbox.Record
	var h []driver.Holding
	for i, fate := range fates {
		records = append(records, recordOf(int64(i+1), "k"))
		h = append(h, driver.Holding{Index: i, Fate: fate})
	}
	require.NoError(t, m.hold(t.Context(), records, h))
	return m, records
}

// states shows the rows of m.
func states(m *memory) []string {
	var all []string
	for _, r := range m.rows.Rows() {
		all = append(all, r.State.String())
	}
	return all
}

// TestO6_ParkedBehindAHeldRecord: what was given up behind a record that is tried again
// stays parked once its turn has come.
func TestO6_ParkedBehindAHeldRecord(t *testing.T) {
	t.Parallel()
	m, _ := held(t, driver.FateRetry, driver.FatePark, driver.FateWait)
	require.Equal(t, []string{"retry", "parked", "wait"}, states(m))
	due, err := m.due(t.Context(), 10, nil)
	require.NoError(t, err)
	require.Len(t, due, 1)
	_, err = m.resolve(t.Context(), []driver.Verdict{{Record: &due[0].Record, Fate: driver.FateDelivered}})
	require.NoError(t, err)
	require.Equal(t, []string{"parked", "wait"}, states(m))
}

// TestO2_VerdictOnAParkedRecord: a verdict that comes after the record was parked is passed
// over, so that a repeated call changes nothing.
func TestO2_VerdictOnAParkedRecord(t *testing.T) {
	t.Parallel()
	m, records := held(t, driver.FatePark)
	for _, fate := range []driver.Fate{driver.FateDelivered, driver.FateRetry, driver.FateDead} {
		free, err := m.resolve(t.Context(), []driver.Verdict{{Record: &records[0], Fate: fate}})
		require.NoError(t, err)
		require.Empty(t, free)
	}
	require.Equal(t, []string{"parked"}, states(m))
}

// TestO6_RedrivenDeadRecordIsFirst: it is tried before what is held behind it, one at a
// time.
func TestO6_RedrivenDeadRecordIsFirst(t *testing.T) {
	t.Parallel()
	m, _ := held(t, driver.FateDead, driver.FateRetry, driver.FateWait)
	require.Equal(t, []string{"dead", "retry", "wait"}, states(m))
	changed, err := m.Redrive(t.Context(), admin.ChangeRequest{
		By: admin.By{Actor: "ann", Reason: "test"}, Selection: admin.Selection{ID: "1"},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, changed.IDs)
	require.Equal(t, []string{"retry", "wait", "wait"}, states(m))
}

// TestO14_DueEndsWithTheRecordThatFillsIt: at least one record is returned, and no more
// than the bound and one.
func TestO14_DueEndsWithTheRecordThatFillsIt(t *testing.T) {
	t.Parallel()
	m, records := held(t, driver.FateRetry, driver.FateWait, driver.FateWait)
	size := len(records[0].Payload) + len(records[0].Key)
	for bytes, want := range map[int]int{0: 1, 1: 1, size: 1, size + 1: 2, 3 * size: 3} {
		due, err := heldqueue.Due(t.Context(), m.rows, heldqueue.Want{Limit: 10, Bytes: bytes})
		require.NoError(t, err)
		require.Len(t, due, want, "%d bytes", bytes)
	}
	_, err := heldqueue.Due(t.Context(), m.rows, heldqueue.Want{Bytes: 1})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}

// TestErrorsAndReasonsAreBounded: the newest hundred errors are kept, as text that every
// database takes.
func TestErrorsAndReasonsAreBounded(t *testing.T) {
	t.Parallel()
	m, records := held(t, driver.FateRetry)
	long := strings.Repeat("é", 1500)
	for range 3 {
		attempts := make([]driver.Attempt, 45)
		attempts[44] = driver.Attempt{At: time.Unix(1, 0), Kind: outbox.FailurePermanent, Error: "a\x00b"}
		v := driver.Verdict{Record: &records[0], Fate: driver.FateRetry, Attempts: attempts, Reason: long}
		_, err := m.resolve(t.Context(), []driver.Verdict{v})
		require.NoError(t, err)
	}
	row := m.rows.Rows()[0]
	require.Equal(t, 135, row.Attempts)
	require.Len(t, row.Errors, 100)
	require.Equal(t, admin.Failure{At: time.Unix(1, 0).UTC(), Kind: "permanent", Error: "a\uFFFDb", Epoch: 1}, row.Errors[99])
	require.Equal(t, long[:2000], row.Reason)
}

// TestRefusedCallsChangeNothing: holdings and verdicts that no relay gives.
func TestRefusedCallsChangeNothing(t *testing.T) {
	t.Parallel()
	m, records := held(t, driver.FateRetry)
	before := m.rows.Rows()
	for _, h := range [][]driver.Holding{
		{{Index: 1}}, {{Index: -1}}, {{Fate: driver.FateDelivered}}, {{Fate: driver.FateDelivered + 1}}, {{Index: 0}, {Index: 0}},
	} {
		require.Error(t, m.hold(t.Context(), records, h))
	}
	for _, v := range []driver.Verdict{{}, {Record: &records[0], Fate: driver.FateWait}, {Record: &records[0], Fate: -1}} {
		_, err := m.resolve(t.Context(), []driver.Verdict{v})
		require.Error(t, err)
	}
	require.Equal(t, before, m.rows.Rows())
}

// TestHold_PassesOverWhatIsThere: a call that is repeated, and records that are read again
// since a position was lost, change nothing.
func TestHold_PassesOverWhatIsThere(t *testing.T) {
	t.Parallel()
	m := newMemory()
	records := []outbox.Record{recordOf(1, "k"), recordOf(2, "k"), recordOf(3, "")}
	h := []driver.Holding{{Index: 0, Fate: driver.FatePark}, {Index: 1, Fate: driver.FateWait}, {Index: 2, Fate: driver.FateDead}}
	require.NoError(t, m.hold(t.Context(), records, h))
	before := m.rows.Rows()
	for i := range h {
		h[i].Fate = driver.FateRetry
	}
	require.NoError(t, m.hold(t.Context(), records, h))
	require.Equal(t, before, m.rows.Rows())
}
