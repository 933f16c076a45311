package middleware_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

// TestAttempts_Counts: failures count, panics too; an error that is not the
// message's fault does not, and success ends the counting.
func TestAttempts_Counts(t *testing.T) {
	t.Parallel()
	counter, err := middleware.NewMemoryAttempts(10)
	require.NoError(t, err)
	var seen []int
	var next error
	h := must(middleware.NewAttempts(middleware.AttemptsConfig{Counter: counter}))(func(msg *message.Message) ([]*message.Message, error) {
		n, ok := middleware.AttemptFrom(msg.Context())
		require.True(t, ok)
		seen = append(seen, n)
		if next == nil && len(seen) == 4 {
			panic("on purpose")
		}
		return nil, next
	})
	msg := message.NewMessageWithContext(t.Context(), "a", nil)
	for _, next = range []error{errHandler, inbox.ErrBusy, errHandler} {
		_, err = h(msg)
		require.Equal(t, next, err)
	}
	next = nil
	require.Panics(t, func() { _, _ = h(msg) })
	_, known := middleware.AttemptFrom(msg.Context())
	require.False(t, known, "the message has its own context back")
	for range 2 {
		_, err = h(msg)
		require.NoError(t, err)
		require.Zero(t, counter.Len())
	}
	require.Equal(t, []int{1, 2, 2, 3, 4, 1}, seen)
}

// brokenCounter fails.
type brokenCounter struct{ adds bool }

func (b brokenCounter) Add(context.Context, string) (int, error) {
	if b.adds {
		return 7, nil
	}
	return 0, errors.New("away")
}
func (brokenCounter) Sub(context.Context, string) error    { return errors.New("away") }
func (brokenCounter) Forget(context.Context, string) error { return errors.New("away") }

func TestAttempts_StopNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []brokenCounter{{}, {adds: true}} {
		h := must(middleware.NewAttempts(middleware.AttemptsConfig{Counter: c}))(func(msg *message.Message) ([]*message.Message, error) {
			n, known := middleware.AttemptFrom(msg.Context())
			require.Equal(t, c.adds, known)
			if known {
				require.Equal(t, 7, n)
			}
			return respond("x")(msg)
		})
		produced, err := h(message.NewMessage("a", nil))
		require.NoError(t, err)
		require.Len(t, produced, 1)
	}
	h := must(middleware.NewAttempts(middleware.AttemptsConfig{Counter: brokenCounter{}}))(respond("x"))
	produced, err := h(message.NewMessage("", nil))
	require.NoError(t, err)
	require.Len(t, produced, 1, "a message without an id")
}

// TestMemoryAttempts_IsBounded: what was counted last is remembered.
func TestMemoryAttempts_IsBounded(t *testing.T) {
	t.Parallel()
	_, err := middleware.NewMemoryAttempts(0)
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "capacity = 0: must be at least 1")
	c, err := middleware.NewMemoryAttempts(2)
	require.NoError(t, err)
	for _, step := range []struct {
		id   string
		want int
	}{{"a", 1}, {"b", 1}, {"a", 2}, {"c", 1}, {"a", 3}, {"b", 1}, {"c", 1}} {
		n, err := c.Add(t.Context(), step.id)
		require.NoError(t, err)
		require.Equal(t, step.want, n, step.id)
	}
	require.Equal(t, 2, c.Len())
	for range 2 {
		require.NoError(t, c.Sub(t.Context(), "c"))
	}
	require.Equal(t, 1, c.Len())
}
