package inbox_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/onehandler/routed"
)

func sentTo(t *testing.T, handler, id string) *message.Message {
	t.Helper()
	msg, err := routed.Message(t.Context(), handler, id)
	require.NoError(t, err)
	return msg
}

// TestN1_TwoHandlersOfABatch: A1. Messages of two handlers in one batch, and copies of
// what the other one has processed, are not acknowledged.
func TestN1_TwoHandlersOfABatch(t *testing.T) {
	t.Parallel()
	store, r := newBatchStore(), batchRecorder{}
	store.statuses = map[string]driver.Status{"b": driver.Duplicate}
	batch := newBatch(t, store, inbox.BatchConfig{})
	msgs := []*message.Message{sentTo(t, "points", "a"), sentTo(t, "mail", "b"), sentTo(t, "mail", "c")}
	for _, err := range batch.Process(t.Context(), msgs, r.handle)[1:] {
		require.ErrorIs(t, err, inbox.ErrTwoHandlers)
	}
	for _, err := range batch.Process(t.Context(), msgs, r.handle) {
		require.ErrorIs(t, err, inbox.ErrTwoHandlers)
	}
	require.Empty(t, r.calls)
}
