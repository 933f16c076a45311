package middleware_test

import (
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/memdedupe"
	"github.com/leat-go/leat/middleware"
)

var errPublisher = errors.New("the publisher fails")

// shelf is a publisher that keeps what it was given.
type shelf struct {
	topics []string
	ids    []string
	err    error
}

func (s *shelf) Publish(topic string, msgs ...*message.Message) error {
	if s.err != nil {
		return s.err
	}
	for _, m := range msgs {
		s.topics, s.ids = append(s.topics, topic), append(s.ids, m.UUID)
	}
	return nil
}

func (*shelf) Close() error { return nil }

func newDeduper(t *testing.T) *dedupe.Processor {
	t.Helper()
	store, err := memdedupe.New(memdedupe.Config{})
	require.NoError(t, err)
	p, err := dedupe.New(store, "tester", dedupe.Config{BusyDelay: -1})
	require.NoError(t, err)
	return p
}

// TestD6_PublishedBeforeDone: what a handler returns is published before the
// message counts as done, and a failure to publish leaves it undone.
func TestD6_PublishedBeforeDone(t *testing.T) {
	t.Parallel()
	pub := &shelf{err: errPublisher}
	h := must(middleware.NewDedupe(middleware.DedupeConfig{Processor: newDeduper(t), Publisher: pub}))(respond("x", "y"))
	_, err := h(routed(t, "a"))
	require.ErrorIs(t, err, errPublisher)
	pub.err = nil
	for range 2 {
		produced, err := h(routed(t, "a"))
		require.NoError(t, err)
		require.Empty(t, produced)
	}
	require.Equal(t, []string{"x", "y"}, pub.ids)
	require.Equal(t, []string{"out", "out"}, pub.topics)
}

func TestDedupe_RunsOnceUnderALease(t *testing.T) {
	t.Parallel()
	runs := 0
	h := must(middleware.NewDedupe(middleware.DedupeConfig{Processor: newDeduper(t), ComparePayload: true}))(func(msg *message.Message) ([]*message.Message, error) {
		runs++
		run, ok := dedupe.FromContext(msg.Context())
		require.True(t, ok)
		require.Equal(t, runs, run.Attempt)
		if runs == 1 {
			return nil, errHandler
		}
		return nil, nil
	})
	msg := message.NewMessageWithContext(t.Context(), "a", []byte("payload"))
	_, err := h(msg)
	require.ErrorIs(t, err, errHandler)
	_, ok := dedupe.FromContext(msg.Context())
	require.False(t, ok, "the message has its own context back")
	for range 2 {
		_, err = h(msg)
		require.NoError(t, err)
	}
	require.Equal(t, 2, runs)
	_, err = h(message.NewMessage("a", []byte("another payload")))
	require.ErrorIs(t, err, dedupe.ErrMismatch)
}

func TestDedupe_RefusesMessages(t *testing.T) {
	t.Parallel()
	cfg := middleware.DedupeConfig{Processor: newDeduper(t)}
	d := must(middleware.NewDedupe(cfg))
	_, err := d(respond())(message.NewMessage("", nil))
	require.ErrorIs(t, err, dedupe.ErrNoID)
	_, err = d(respond("x"))(routed(t, "a"))
	require.ErrorIs(t, err, middleware.ErrNoDestination)
	require.ErrorContains(t, err, "set DedupeConfig.Publisher")
	cfg = middleware.DedupeConfig{Processor: newDeduper(t), Publisher: &shelf{}}
	_, err = must(middleware.NewDedupe(cfg))(respond("x"))(message.NewMessage("a", nil))
	require.ErrorIs(t, err, middleware.ErrNoDestination)
	require.ErrorContains(t, err, "the handler has no topic to publish to")
}
