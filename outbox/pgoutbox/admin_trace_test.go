package pgoutbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestTrace_WithinAWindow: while a window is being read, its settled records count as sent, the rest as
// pending.
func TestTrace_WithinAWindow(t *testing.T) {
	t.Parallel()
	ob, _ := newOutbox(t, pgoutbox.Config{})
	put(t, ob, "a", "1", "2", "3")
	s := acquire(t, ob, "default")
	page, err := s.Read(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, page.Records, 3)
	require.NoError(t, s.Advance(t.Context(), page, 2))
	for i, want := range []admin.TraceState{admin.TraceSent, admin.TraceSent, admin.TracePending} {
		trace, err := ob.Admin().Trace(t.Context(), admin.TraceQuery{ID: page.Records[i].ID})
		require.NoError(t, err)
		require.Len(t, trace.Messages, 1)
		require.Equal(t, []admin.GroupTrace{{Group: "default", State: want}}, trace.Messages[0].Groups)
	}
	require.NoError(t, s.Release(t.Context()))
}
