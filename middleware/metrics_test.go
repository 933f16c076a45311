package middleware_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

type ledger struct{ handled []middleware.HandleEvent }

func (l *ledger) OnMiddlewareHandle(_ context.Context, e middleware.HandleEvent) {
	l.handled = append(l.handled, e)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	m := must(middleware.NewMetrics(middleware.MetricsConfig{Hooks: []outbox.Hook{l}}))
	_, err := m(respond("x", "y"))(routed(t, "a"))
	require.NoError(t, err)
	_, err = m(failing)(routed(t, "a"))
	require.Equal(t, errHandler, err)
	require.Panics(t, func() {
		_, _ = m(func(*message.Message) ([]*message.Message, error) { panic("on purpose") })(routed(t, "a"))
	})
	require.Len(t, l.handled, 3)
	for _, h := range l.handled {
		require.Equal(t, "handler", h.Handler)
		require.Equal(t, "in", h.Topic)
		require.NotEmpty(t, h.Subscriber)
		require.GreaterOrEqual(t, h.Took.Nanoseconds(), int64(0))
	}
	require.Equal(t, 2, l.handled[0].Produced)
	require.Equal(t, errHandler, l.handled[1].Err)
	require.True(t, l.handled[2].Panicked)
	require.False(t, l.handled[1].Panicked)
}
