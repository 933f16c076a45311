package memoutbox_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
)

// setAside returns an outbox and a session of its default group. The group has given up
// message "a", has parked "b", and lets "c" wait behind "b".
func setAside(t *testing.T) (*memoutbox.Outbox, driver.Holder) {
	t.Helper()
	ob := newOutbox(t)
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx,
			outbox.Message{ID: "a", Topic: "orders", Key: "k"}, outbox.Message{ID: "b", Topic: "orders", Key: "k"},
			outbox.Message{ID: "c", Topic: "orders", Key: "k"})
	}))
	s, err := ob.Source(memoutbox.SourceConfig{}).Acquire(t.Context(), time.Hour)
	require.NoError(t, err)
	h, ok := s.(driver.Holder)
	require.True(t, ok)
	page, err := s.Read(t.Context(), 10)
	require.NoError(t, err)
	require.NoError(t, h.Hold(t.Context(), page, 3, []driver.Holding{
		{Index: 0, Fate: driver.FateDead, Reason: "too large"}, {Index: 1, Fate: driver.FatePark}, {Index: 2, Fate: driver.FateWait},
	}))
	return ob, h
}

func by() admin.By {
	return admin.By{Actor: "ann", Reason: "test"}
}

// TestO6_RequestsOfOperators: a dead record is tried before those that are held of its key,
// and what is done is audited.
func TestO6_RequestsOfOperators(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ob, h := setAside(t)
		start := time.Now()
		<-time.After(time.Minute)
		sel := admin.Selection{Topics: "ord*", Before: start.Add(time.Second), Dead: true}
		changed, err := ob.Admin().Redrive(t.Context(), admin.ChangeRequest{By: by(), Selection: sel})
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, changed.IDs)
		require.Equal(t, []string{"a"}, dueIDs(t, h))

		changed, err = ob.Admin().Drop(t.Context(), admin.ChangeRequest{By: by(), Selection: admin.Selection{ID: "b"}})
		require.NoError(t, err)
		require.Equal(t, []string{"b"}, changed.IDs)
		require.Equal(t, []string{"a", "c"}, dueIDs(t, h))

		entries, err := ob.Admin().Audit(t.Context(), admin.AuditQuery{})
		require.NoError(t, err)
		var done []string
		for _, e := range entries {
			done = append(done, e.Action+" "+e.ID+" by "+e.Actor)
			require.Equal(t, "default", e.Group)
		}
		relay := "session 1 of group default"
		require.Equal(t, []string{"dead a by " + relay, "park b by " + relay, "redrive a by ann", "drop b by ann"}, done)
		require.Equal(t, time.Minute, entries[2].At.Sub(entries[1].At))
		last, err := ob.Admin().Audit(t.Context(), admin.AuditQuery{After: entries[2].No, Action: "drop"})
		require.NoError(t, err)
		require.Equal(t, entries[3:], last)
	})
}

func dueIDs(t *testing.T, h driver.Holder) (ids []string) {
	t.Helper()
	due, err := h.Due(t.Context(), 10, nil)
	require.NoError(t, err)
	for i := range due {
		ids = append(ids, due[i].ID)
	}
	return ids
}
