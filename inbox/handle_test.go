package inbox_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
)

// TestI2_HandleWithoutARouter: the handler has a message of its own, and is the inbox's only one.
func TestI2_HandleWithoutARouter(t *testing.T) {
	t.Parallel()
	in, err := meminbox.New("tester", meminbox.Config{})
	require.NoError(t, err)
	nack, effects := true, 0
	handle := in.Handle(func(ctx context.Context, msg *message.Message) error {
		require.True(t, meminbox.OnCommit(ctx, func() { effects++ }))
		require.True(t, meminbox.OnCommit(msg.Context(), func() {}))
		if nack {
			msg.Nack()
		}
		msg.Ack()
		return nil
	})
	msg := message.NewMessage("a", nil)
	require.ErrorIs(t, handle(msg), inbox.ErrAckedBeforeCommit)
	nack = false
	for range 2 {
		require.NoError(t, handle(msg))
	}
	require.Equal(t, 1, effects)
	require.True(t, msg.Nack(), "only whoever delivers it settles it")

	other := in.Handle(func(context.Context, *message.Message) error { return nil })
	require.ErrorIs(t, other(message.NewMessage("b", nil)), inbox.ErrTwoHandlers)
}
