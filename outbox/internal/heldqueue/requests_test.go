package heldqueue_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

func operator() admin.By {
	return admin.By{Actor: "ann", Reason: "test"}
}

func ofKey(limit int) admin.Selection {
	return admin.Selection{Topic: "orders", Key: "k", Limit: limit}
}

// TestO6_AKeyIsDroppedFromItsEnd: whoever drops a key in parts leaves its head, behind which
// nothing goes out.
func TestO6_AKeyIsDroppedFromItsEnd(t *testing.T) {
	t.Parallel()
	m, _ := held(t, driver.FatePark, driver.FateWait, driver.FateWait)
	changed, err := m.Drop(t.Context(), admin.ChangeRequest{By: operator(), Selection: ofKey(2)})
	require.NoError(t, err)
	require.Equal(t, []string{"2", "3"}, changed.IDs)
	require.Equal(t, []string{"parked"}, states(m))
}

// TestO6_ADroppedHeadLetsItsKeyGo: what is retried may be dropped, in whichever way it is named. The next of its key is due then.
func TestO6_ADroppedHeadLetsItsKeyGo(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]func(m *memory) (admin.Changed, error){
		"skipped": func(m *memory) (admin.Changed, error) {
			return m.SkipHead(t.Context(), admin.SkipHeadRequest{By: operator(), Key: driver.Key{Topic: "orders", Key: "k"}})
		},
		"by its id": func(m *memory) (admin.Changed, error) {
			return m.Drop(t.Context(), admin.ChangeRequest{By: operator(), Selection: admin.Selection{ID: "1"}})
		},
	} {
		m, _ := held(t, driver.FateRetry, driver.FateWait, driver.FateWait)
		changed, err := drop(m)
		require.NoError(t, err, name)
		require.Equal(t, []string{"1"}, changed.IDs, name)
		require.Equal(t, []string{"retry", "wait"}, states(m), name)
	}
}

// TestO6_AFilterSelectsWhatIsParked: it does not drop what is being tried again.
func TestO6_AFilterSelectsWhatIsParked(t *testing.T) {
	t.Parallel()
	m, _ := held(t, driver.FateRetry, driver.FateWait)
	changed, err := m.Drop(t.Context(), admin.ChangeRequest{By: operator(), Selection: admin.Selection{Topics: "*"}})
	require.NoError(t, err)
	require.Zero(t, changed.Count)
}

// TestO7_ARedriveBeginsAnew: attempts begin at 0, errors are kept, whichever record of the
// key was named.
func TestO7_ARedriveBeginsAnew(t *testing.T) {
	t.Parallel()
	m := newMemory()
	failed := []driver.Attempt{{Kind: outbox.FailurePermanent, Error: "refused"}}
	require.NoError(t, m.hold(t.Context(), []outbox.Record{recordOf(1, "k"), recordOf(2, "k")}, []driver.Holding{
		{Index: 0, Fate: driver.FatePark, Attempts: failed, Reason: "refused"}, {Index: 1, Fate: driver.FateWait},
	}))
	changed, err := m.Redrive(t.Context(), admin.ChangeRequest{By: operator(), Selection: admin.Selection{ID: "2"}})
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, changed.IDs)
	row := m.rows.Rows()[0]
	require.Zero(t, row.Attempts)
	require.Empty(t, row.Reason)
	require.Len(t, row.Errors, 1)
	require.Equal(t, []string{"retry", "wait"}, states(m))
}

// TestO2_WhatIsDroppedIsNoted: the audit has its errors, since the row is gone.
func TestO2_WhatIsDroppedIsNoted(t *testing.T) {
	t.Parallel()
	m, _ := held(t, driver.FatePark, driver.FateDead)
	for _, dead := range []bool{false, true} {
		sel := admin.Selection{Topics: "*", Dead: dead}
		_, err := m.Drop(t.Context(), admin.ChangeRequest{By: operator(), Selection: sel})
		require.NoError(t, err)
	}
	require.Empty(t, m.rows.Rows())
	entries, err := m.Audit(t.Context(), admin.AuditQuery{Action: "drop"})
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.JSONEq(t, `{"from": "parked", "errors": []}`, string(entries[0].Details))
	require.JSONEq(t, `{"from": "dead", "errors": []}`, string(entries[1].Details))
}
