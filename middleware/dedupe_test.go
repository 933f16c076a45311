package middleware_test

import (
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/memdedupe"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
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

// TestD3_OtherIDs: what was processed does not run again since its id comes from elsewhere, in any
// process, and neither is what was published.
func TestD3_OtherIDs(t *testing.T) {
	t.Parallel()
	store, err := memdedupe.New(memdedupe.Config{})
	require.NoError(t, err)
	process := func(name string) *dedupe.Processor {
		p, err := dedupe.New(store, name, dedupe.Config{BusyDelay: -1})
		require.NoError(t, err)
		return p
	}
	runs := 0
	deliver := func(source inbox.IDSource) error {
		h := must(middleware.NewDedupe(middleware.DedupeConfig{Processor: process("tester"), IDFrom: source}))(
			func(*message.Message) ([]*message.Message, error) {
				runs++
				return nil, nil
			})
		_, err := h(message.NewMessageWithContext(t.Context(), "a", nil))
		return err
	}
	other := inbox.IDSource{Name: "other", Find: func(msg *message.Message) (string, error) { return "other " + msg.UUID, nil }}
	require.NoError(t, deliver(inbox.IDSource{}))
	require.ErrorIs(t, deliver(other), basis.ErrOtherIDs)
	require.ErrorContains(t, deliver(other), `the source was "uuid or header event-id" and is "other"`)
	require.NoError(t, deliver(inbox.DefaultIDSource()))
	require.Equal(t, 1, runs)

	pub := &shelf{}
	publish := func(source inbox.IDSource) error {
		once, err := must(middleware.NewDedupePublisher(middleware.DedupePublisherConfig{Processor: process("publisher"), IDFrom: source}))(pub)
		require.NoError(t, err)
		return once.Publish("t", messages("a")...)
	}
	require.NoError(t, publish(inbox.IDSource{}))
	require.ErrorIs(t, publish(other), basis.ErrOtherIDs)
	require.Equal(t, []string{"a"}, pub.ids)

	_, err = middleware.NewDedupe(middleware.DedupeConfig{Processor: process("nameless"), IDFrom: inbox.IDSource{Find: other.Find}})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "IDFrom.Name")
}
