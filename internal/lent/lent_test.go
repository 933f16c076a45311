package lent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/lent"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type ctxKey struct{}

// TestI3_LentMessage: B4. A handler finds all of the message, and what it changes is there
// afterwards, even if it fails or panics.
func TestI3_LentMessage(t *testing.T) {
	t.Parallel()
	errHandler := errors.New("on purpose")
	for name, end := range map[string]func() error{
		"done": func() error { return nil }, "fails": func() error { return errHandler }, "panics": func() error { panic(errHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			msg := message.NewMessageWithContext(t.Context(), "a", message.Payload("payload"))
			msg.Metadata.Set("key", "before")
			ctx := context.WithValue(t.Context(), ctxKey{}, "inside")
			m := lent.Of(msg)
			m.Settle(false) // nothing was lent
			call := func() error {
				return m.To(ctx, func(own *message.Message) error {
					require.NotSame(t, msg, own)
					require.True(t, msg.Equals(own))
					require.Equal(t, "inside", own.Context().Value(ctxKey{}))
					own.Metadata.Set("key", "after")
					own.UUID, own.Payload = "b", message.Payload("changed")
					own.Ack()
					return end()
				})
			}
			if name == "panics" {
				require.Panics(t, func() { _ = call() })
			} else {
				require.ErrorIs(t, call(), end())
			}
			require.Equal(t, "after", msg.Metadata.Get("key"))
			require.Equal(t, "b", msg.UUID)
			require.Equal(t, message.Payload("changed"), msg.Payload)
			require.Equal(t, t.Context(), msg.Context())
			requireOpen(t, msg.Acked())
			requireOpen(t, msg.Nacked())
		})
	}
}

func requireOpen(t *testing.T, settled <-chan struct{}) {
	t.Helper()
	select {
	case <-settled:
		require.Fail(t, "the message is settled")
	default:
	}
}

// TestI3_LentMessageIsSettled: who waits for the ack of a handler's own message waits for
// the end of the delivery.
func TestI3_LentMessageIsSettled(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{true, false} {
		m := lent.Of(message.NewMessage("a", nil))
		var own *message.Message
		for range 2 { // a conflict calls the handler again
			require.NoError(t, m.To(t.Context(), func(msg *message.Message) error {
				own = msg
				return nil
			}))
		}
		requireOpen(t, own.Acked())
		requireOpen(t, own.Nacked())
		m.Settle(done)
		m.Settle(false)
		settled := own.Nacked()
		if done {
			settled = own.Acked()
		}
		select {
		case <-settled:
		default:
			require.Fail(t, "the handler's message is not settled", "done %t", done)
		}
	}
	m := lent.Of(message.NewMessage("a", nil))
	require.ErrorIs(t, m.To(t.Context(), func(own *message.Message) error {
		own.Nack()
		return nil
	}), lent.Err)
}
