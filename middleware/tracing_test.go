package middleware_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	wm "github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware"
)

// spans writes down what a tracer is told.
type spans struct {
	log []string
	all []middleware.Span
}

type spanKey struct{}

func (s *spans) Begin(ctx context.Context, sp middleware.Span) (context.Context, func(time.Time, error)) {
	parent, _ := ctx.Value(spanKey{}).(string)
	s.all = append(s.all, sp)
	return context.WithValue(ctx, spanKey{}, string(sp.Kind)), func(at time.Time, err error) {
		if at.Before(sp.Began) {
			err = fmt.Errorf("ends before it begins: %w", err)
		}
		s.log = append(s.log, fmt.Sprintf("%s in %q: %v", sp.Kind, parent, err))
	}
}

// TestTracing: claim, handler and commit are spans in that of the delivery, each
// try with its own.
func TestTracing(t *testing.T) {
	t.Parallel()
	s := &spans{}
	tr := must(middleware.NewTracing(middleware.TracingConfig{Tracer: s}))
	tries := 0
	h := tr.Middleware(must(middleware.NewInbox(middleware.InboxConfig{Processor: newInbox(t)}))(tr.Inside(func(msg *message.Message) ([]*message.Message, error) {
		require.Equal(t, "handle", msg.Context().Value(spanKey{}))
		if tries++; tries == 1 {
			return nil, errHandler
		}
		return nil, nil
	})))
	msg := routed(t, "a")
	msg.Metadata.Set("traceparent", "00-01-02-01")
	for range 2 {
		_, _ = h(msg)
	}
	require.Nil(t, msg.Context().Value(spanKey{}))
	require.Equal(t, []string{
		`claim in "process": <nil>`, `handle in "process": the handler fails`,
		`commit in "process": the handler fails`, `process in "": the handler fails`,
		`claim in "process": <nil>`, `handle in "process": <nil>`, `commit in "process": <nil>`, `process in "": <nil>`,
	}, s.log)
	require.Equal(t, "00-01-02-01", s.all[0].Headers["traceparent"])
	for _, sp := range s.all {
		require.Equal(t, "a", sp.MessageID)
		require.Equal(t, "handler", sp.Handler)
		require.Equal(t, "in", sp.Topic)
	}
	_, err := h(msg)
	require.NoError(t, err)
	require.Equal(t, `process in "": <nil>`, s.log[8], "a duplicate has no handler")
	require.Len(t, s.log, 9)
}

func TestTracing_Panics(t *testing.T) {
	t.Parallel()
	s := &spans{}
	tr := must(middleware.NewTracing(middleware.TracingConfig{Tracer: s}))
	h := wm.Recoverer(tr.Middleware(tr.Inside(func(*message.Message) ([]*message.Message, error) { panic("on purpose") })))
	_, err := h(routed(t, "a"))
	require.Error(t, err)
	require.Equal(t, []string{
		`claim in "process": <nil>`, `handle in "process": handler panicked`,
		`commit in "process": handler panicked`, `process in "": handler panicked`,
	}, s.log)
	produced, err := tr.Inside(respond("x"))(routed(t, "a"))
	require.NoError(t, err)
	require.Len(t, produced, 1)
	require.Len(t, s.log, 4, "nothing is outside")
}
