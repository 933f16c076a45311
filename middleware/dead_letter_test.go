package middleware_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/middleware"
)

// letters keeps the messages that are published, with the state of their
// contexts.
type letters struct {
	msgs   []*message.Message
	topics []string
	ended  []error
	err    error
}

func (l *letters) Publish(topic string, msgs ...*message.Message) error {
	for _, m := range msgs {
		l.msgs, l.topics, l.ended = append(l.msgs, m), append(l.topics, topic), append(l.ended, m.Context().Err())
	}
	return l.err
}

func (*letters) Close() error { return nil }

func failing(*message.Message) ([]*message.Message, error) { return nil, errHandler }

// TestDeadLetter_SurvivesACancelledContext: a message that took too long is
// published all the same, by its own id.
func TestDeadLetter_SurvivesACancelledContext(t *testing.T) {
	t.Parallel()
	pub := &letters{}
	msg := routed(t, "a")
	msg.Payload = []byte("payload")
	msg.Metadata.Set("event-type", "paid")
	ctx, cancel := context.WithCancel(msg.Context())
	msg.SetContext(ctx)
	h := must(middleware.NewDeadLetter(middleware.DeadLetterConfig{Publisher: pub, Topic: "dead"}))(func(*message.Message) ([]*message.Message, error) {
		cancel()
		return nil, errors.Join(errHandler, context.DeadlineExceeded)
	})
	produced, err := h(msg)
	require.NoError(t, err, "so that it is acked")
	require.Empty(t, produced)
	require.Equal(t, []string{"dead"}, pub.topics)
	require.NoError(t, pub.ended[0], "the publisher's context is alive")
	dead := pub.msgs[0]
	require.Equal(t, "a", dead.UUID)
	require.Equal(t, "payload", string(dead.Payload))
	require.Equal(t, "paid", dead.Metadata.Get("event-type"))
	require.Equal(t, "the handler fails\ncontext deadline exceeded", dead.Metadata.Get(middleware.HeaderDeadReason))
	require.Equal(t, "in", dead.Metadata.Get(middleware.HeaderDeadTopic))
	require.Equal(t, "handler", dead.Metadata.Get(middleware.HeaderDeadHandler))
	_, err = time.Parse(time.RFC3339Nano, dead.Metadata.Get(middleware.HeaderDeadTime))
	require.NoError(t, err)
	require.NotContains(t, dead.Metadata, middleware.HeaderDeadAttempts)
	require.Equal(t, message.Metadata{"event-type": "paid"}, msg.Metadata, "the message itself is untouched")
}

// TestI3_DeadLetterIsNotAckedUnpublished: a message without a copy in the
// dead letters is not acked.
func TestI3_DeadLetterIsNotAckedUnpublished(t *testing.T) {
	t.Parallel()
	pub := &letters{err: errPublisher}
	_, err := must(middleware.NewDeadLetter(middleware.DeadLetterConfig{Publisher: pub, Topic: "dead"}))(failing)(routed(t, "a"))
	require.ErrorIs(t, err, errPublisher)
	require.ErrorIs(t, err, errHandler)
	require.ErrorContains(t, err, "leat: dead letter: the publisher fails")
}

func TestDeadLetter_LetsPass(t *testing.T) {
	t.Parallel()
	pub := &letters{}
	cfg := middleware.DeadLetterConfig{Publisher: pub, Topic: "dead"}
	d := must(middleware.NewDeadLetter(cfg))
	produced, err := d(respond("x"))(routed(t, "a"))
	require.NoError(t, err)
	require.Len(t, produced, 1)
	for _, pass := range []error{inbox.ErrBusy, inbox.ErrCommitUnknown, inbox.ErrNotClaimed, context.Canceled} {
		_, err = d(func(*message.Message) ([]*message.Message, error) { return nil, pass })(routed(t, "a"))
		require.Equal(t, pass, err)
	}
	cfg.Should = func(error) bool { return false }
	_, err = must(middleware.NewDeadLetter(cfg))(failing)(routed(t, "a"))
	require.Equal(t, errHandler, err)
	require.Empty(t, pub.msgs)
}

// TestDeadLetter_After: with Attempts outside, a message comes several times.
func TestDeadLetter_After(t *testing.T) {
	t.Parallel()
	counter, err := middleware.NewMemoryAttempts(10)
	require.NoError(t, err)
	pub := &letters{}
	d := must(middleware.NewDeadLetter(middleware.DeadLetterConfig{Publisher: pub, Topic: "dead", After: 3}))
	h := must(middleware.NewAttempts(middleware.AttemptsConfig{Counter: counter}))(d(failing))
	for range 2 {
		_, err := h(routed(t, "a"))
		require.Equal(t, errHandler, err)
	}
	_, err = h(routed(t, "a"))
	require.NoError(t, err)
	require.Len(t, pub.msgs, 1)
	require.Equal(t, "3", pub.msgs[0].Metadata.Get(middleware.HeaderDeadAttempts))
	require.Zero(t, counter.Len())
}

// TestDeadLetter_NeedsAttempts: without Attempts outside, After can never be reached.
// The first message shows it, whatever the handler would say.
func TestDeadLetter_NeedsAttempts(t *testing.T) {
	t.Parallel()
	d := must(middleware.NewDeadLetter(middleware.DeadLetterConfig{Publisher: &letters{}, Topic: "dead", After: 3}))
	ran := false
	_, err := d(func(*message.Message) ([]*message.Message, error) {
		ran = true
		return nil, nil
	})(routed(t, "a"))
	require.ErrorIs(t, err, middleware.ErrMisplaced)
	require.ErrorContains(t, err, "DeadLetterConfig.After = 3 needs NewAttempts outside")
	require.False(t, ran)
}

// TestDeadLetter_Uncounted: a counter that is away gives no message up, and is not taken
// for one that is missing.
func TestDeadLetter_Uncounted(t *testing.T) {
	t.Parallel()
	pub := &letters{}
	d := must(middleware.NewDeadLetter(middleware.DeadLetterConfig{Publisher: pub, Topic: "dead", After: 2}))
	h := must(middleware.NewAttempts(middleware.AttemptsConfig{Counter: brokenCounter{}}))(d(failing))
	for range 3 {
		_, err := h(routed(t, "a"))
		require.Equal(t, errHandler, err, "it comes again")
	}
	require.Empty(t, pub.msgs)
}

// TestDeadLetter_InTx: the outbox's transaction is around the publishing alone.
func TestDeadLetter_InTx(t *testing.T) {
	t.Parallel()
	type txKey struct{}
	pub := &letters{}
	d := must(middleware.NewDeadLetter(middleware.DeadLetterConfig{
		Publisher: pub, Topic: "dead",
		InTx: func(ctx context.Context, publish func(context.Context) error) error {
			return publish(context.WithValue(ctx, txKey{}, "tx"))
		},
	}))
	_, err := d(failing)(routed(t, "a"))
	require.NoError(t, err)
	require.Equal(t, "tx", pub.msgs[0].Context().Value(txKey{}))
}

func TestDeadLetter_CutsTheReason(t *testing.T) {
	t.Parallel()
	pub := &letters{}
	long := errors.New(strings.Repeat("é", 1500) + "\xff")
	h := must(middleware.NewDeadLetter(middleware.DeadLetterConfig{Publisher: pub, Topic: "dead"}))(func(*message.Message) ([]*message.Message, error) {
		return nil, errors.Join(errors.New("x"), long)
	})
	_, err := h(routed(t, "a"))
	require.NoError(t, err)
	reason := pub.msgs[0].Metadata.Get(middleware.HeaderDeadReason)
	require.LessOrEqual(t, len(reason), 2000)
	require.True(t, strings.HasPrefix(reason, "x\né"))
	require.True(t, strings.HasSuffix(reason, "é"))
}
