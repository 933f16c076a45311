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
		meminbox.FromContext(msg.Context()).OnCommit(func() { *effects++ })
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

func TestI3_InstantAckIsRefused(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(in message.HandlerMiddleware, h message.HandlerFunc) message.HandlerFunc{
		"outside": func(in message.HandlerMiddleware, h message.HandlerFunc) message.HandlerFunc {
			return wm.InstantAck(in(h))
		},
		"inside": func(in message.HandlerMiddleware, h message.HandlerFunc) message.HandlerFunc {
			return in(wm.InstantAck(h))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			effects := 0
			h := writing(&effects, func() error { return nil })
			_, err := wrap(must(middleware.NewInbox(middleware.InboxConfig{Processor: newInbox(t)})), h)(routed(t, "a"))
			require.ErrorIs(t, err, inbox.ErrAckedBeforeCommit)
			require.Zero(t, effects)
		})
	}
}
