package middleware_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	wm "github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware"
)

// writing returns a handler that writes an effect and then does more.
func writing(effects *int, more func() error) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		meminbox.OnCommit(msg.Context(), func() { *effects++ })
		return nil, more()
	}
}

// TestI4_SwallowedErrors has Watermill's IgnoreErrors between the handler and
// the inbox. Without the guard the failure commits, which shows that the guard
// is what prevents it.
func TestI4_SwallowedErrors(t *testing.T) {
	t.Parallel()
	swallow := wm.NewIgnoreErrors([]error{errHandler}).Middleware
	effects := 0
	h := writing(&effects, func() error { return errHandler })

	_, err := must(middleware.NewInbox(middleware.InboxConfig{Processor: newInbox(t)}))(swallow(middleware.RollbackOnError(h)))(routed(t, "a"))
	require.ErrorIs(t, err, inbox.ErrRollbackOnly)
	require.ErrorIs(t, err, errHandler)
	require.Zero(t, effects)

	_, err = must(middleware.NewInbox(middleware.InboxConfig{Processor: newInbox(t)}))(swallow(h))(routed(t, "a"))
	require.NoError(t, err)
	require.Equal(t, 1, effects)
}

func TestI4_SwallowedPanics(t *testing.T) {
	t.Parallel()
	effects := 0
	h := writing(&effects, func() error { panic("on purpose") })
	swallow := func(h message.HandlerFunc) message.HandlerFunc {
		h = wm.Recoverer(h)
		return func(msg *message.Message) ([]*message.Message, error) {
			_, _ = h(msg)
			return nil, nil
		}
	}

	_, err := must(middleware.NewInbox(middleware.InboxConfig{Processor: newInbox(t)}))(swallow(middleware.RollbackOnError(h)))(routed(t, "a"))

	require.ErrorIs(t, err, inbox.ErrRollbackOnly)
	require.ErrorContains(t, err, "panicked")
	require.Zero(t, effects)
}

func TestRollbackOnErrorLetsSuccessAndTheUnguardedPass(t *testing.T) {
	t.Parallel()
	effects := 0
	h := middleware.RollbackOnError(writing(&effects, func() error { return nil }))
	_, err := must(middleware.NewInbox(middleware.InboxConfig{Processor: newInbox(t)}))(h)(routed(t, "a"))
	require.NoError(t, err)
	require.Equal(t, 1, effects)

	h = middleware.RollbackOnError(func(*message.Message) ([]*message.Message, error) { return nil, errHandler })
	_, err = h(routed(t, "a"))
	require.Equal(t, errHandler, err)
}

// TestI3_InstantAckIsRefused: outside the inbox it acks the message, and inside, as a
// handler, its own.
func TestI3_InstantAckIsRefused(t *testing.T) {
	t.Parallel()
	effects := 0
	h := writing(&effects, func() error { return nil })
	once := must(middleware.NewInbox(middleware.InboxConfig{Processor: newInbox(t)}))

	_, err := wm.InstantAck(once(h))(routed(t, "a"))
	require.ErrorIs(t, err, inbox.ErrAckedBeforeCommit)
	require.Zero(t, effects)

	_, err = once(wm.InstantAck(h))(routed(t, "a"))
	require.NoError(t, err)
	require.Equal(t, 1, effects)
}

// TestI3_HandlersMessageIsItsOwn: what the handler makes of its message is there for the
// middlewares outside, except its ack.
func TestI3_HandlersMessageIsItsOwn(t *testing.T) {
	t.Parallel()
	deduper := must(middleware.NewDedupe(middleware.DedupeConfig{Processor: newDeduper(t)}))
	for name, around := range map[string]message.HandlerMiddleware{
		"inbox": must(middleware.NewInbox(middleware.InboxConfig{Processor: newInbox(t)})), "dedupe": deduper,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var own *message.Message
			h := around(func(msg *message.Message) ([]*message.Message, error) {
				own = msg
				msg.Ack()
				msg.Metadata.Set("seen", "yes")
				if msg.UUID == "nacked" {
					return nil, errHandler
				}
				return nil, nil
			})
			msg := routed(t, "a")
			ctx := msg.Context()
			_, err := h(msg)
			require.NoError(t, err)
			require.NotSame(t, msg, own)
			require.Equal(t, "yes", msg.Metadata.Get("seen"))
			require.Equal(t, ctx, msg.Context())
			require.True(t, msg.Nack(), "nobody has acked it")

			msg = routed(t, "nacked")
			_, err = h(msg)
			require.ErrorIs(t, err, errHandler)
			require.True(t, msg.Nack(), "the ack of a handler that failed does not count")

			nacks := around(func(msg *message.Message) ([]*message.Message, error) {
				msg.Nack()
				return nil, nil
			})
			_, err = nacks(routed(t, "b"))
			require.ErrorIs(t, err, inbox.ErrAckedBeforeCommit)
		})
	}
}
