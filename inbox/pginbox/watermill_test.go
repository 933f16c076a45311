package pginbox_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	wm "github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/middleware"
)

var errHandler = errors.New("the handler fails")

// failTwice fails at its first two calls.
func failTwice(call int, _ *message.Message) error {
	if call < 3 {
		return errHandler
	}
	return nil
}

func pass(int, *message.Message) error { return nil }

// TestRetryAround tries again in a new transaction each time, since the context
// is restored; the broker delivers once.
func TestRetryAround(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	deliveries := 0
	count := func(h message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			deliveries++
			return h(msg)
		}
	}
	retry := wm.Retry{MaxRetries: 5, InitialInterval: time.Millisecond}

	st.run(t, failTwice, count, retry.Middleware, st.inbox)

	st.wantOnce(t)
	require.Equal(t, 1, deliveries)
	require.Equal(t, int32(3), st.handled.Load())
}

// TestRetryInside tries again in the same transaction. What the failed calls
// wrote stays, so only handlers that have written nothing belong inside a Retry.
func TestRetryInside(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	retry := wm.Retry{MaxRetries: 5, InitialInterval: time.Millisecond}

	st.run(t, failTwice, st.inbox, retry.Middleware)

	effects, err := st.Effects(t.Context())
	require.NoError(t, err)
	require.Len(t, effects, 3)
	enqueued, err := st.Enqueued(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"child"}, enqueued)
}

// poison is a publisher that looks at the context with which it is called.
type poison struct {
	published []*message.Message
	errs      []error
}

func (p *poison) Publish(_ string, msgs ...*message.Message) error {
	for _, msg := range msgs {
		p.published = append(p.published, msg)
		if pginbox.Tx(msg.Context()) != nil {
			p.errs = append(p.errs, errors.New("published with a transaction in its context"))
		}
		p.errs = append(p.errs, msg.Context().Err())
	}
	return nil
}

func (*poison) Close() error { return nil }

func TestPoisonQueueAround(t *testing.T) {
	t.Parallel()
	st, pub := newStation(t), &poison{}
	queue, err := wm.PoisonQueueWithFilter(pub, "poison", inbox.ShouldPoison)
	require.NoError(t, err)

	st.run(t, func(int, *message.Message) error { return errHandler }, queue, st.inbox, wm.Timeout(time.Minute))

	st.wantNothing(t)
	require.Len(t, pub.published, 1)
	require.NoError(t, errors.Join(pub.errs...))
	require.Equal(t, errHandler.Error(), pub.published[0].Metadata.Get(wm.ReasonForPoisonedKey))
	require.Equal(t, "in", pub.published[0].Metadata.Get(wm.PoisonedTopicKey))
}

// TestI3_PoisonQueueLetsBusyPass delivers a message while it is in progress.
func TestI3_PoisonQueueLetsBusyPass(t *testing.T) {
	t.Parallel()
	st, pub := newStation(t), &poison{}
	queue, err := wm.PoisonQueueWithFilter(pub, "poison", inbox.ShouldPoison)
	require.NoError(t, err)
	inner := queue(st.inbox(func(*message.Message) ([]*message.Message, error) { return nil, nil }))

	st.run(t, func(int, *message.Message) error {
		_, err := inner(message.NewMessage("a", nil))
		require.ErrorIs(t, err, inbox.ErrBusy)
		return nil
	}, st.inbox)

	st.wantOnce(t)
	require.Empty(t, pub.published)
}

// TestPoisonQueueInside swallows the error inside the transaction, which the
// guard keeps from being committed.
func TestPoisonQueueInside(t *testing.T) {
	t.Parallel()
	st, pub := newStation(t), &poison{}
	queue, err := wm.PoisonQueue(pub, "poison")
	require.NoError(t, err)

	st.run(t, failTwice, st.inbox, queue, middleware.RollbackOnError)

	st.wantOnce(t)
	require.Len(t, pub.published, 2)
}

func panicTwice(call int, _ *message.Message) error {
	if call < 3 {
		panic("on purpose")
	}
	return nil
}

func TestRecovererAround(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.run(t, panicTwice, wm.Recoverer, st.inbox)
	st.wantOnce(t)
}

func TestRecovererInside(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.run(t, panicTwice, st.inbox, wm.Recoverer)
	st.wantOnce(t)
}

// TestPanicWithoutRecoverer leaves it to the router, which nacks.
func TestPanicWithoutRecoverer(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.run(t, panicTwice, st.inbox)
	st.wantOnce(t)
}

// TestTimeoutInside has a handler that runs out of time at its first call. In
// the end its message is enqueued although Timeout has cancelled the message's
// context by then.
func TestTimeoutInside(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.run(t, func(call int, msg *message.Message) error {
		if call > 1 {
			return nil
		}
		<-msg.Context().Done()
		return st.Write(msg.Context(), "too late")
	}, st.inbox, wm.Timeout(500*time.Millisecond))
	st.wantOnce(t)
	require.GreaterOrEqual(t, st.handled.Load(), int32(2))
}

// TestTimeoutAround has a handler that ends too late and does not notice: the
// inbox does.
func TestTimeoutAround(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.run(t, func(call int, msg *message.Message) error {
		if call == 1 {
			<-msg.Context().Done()
			require.ErrorIs(t, msg.Context().Err(), context.DeadlineExceeded)
		}
		return nil
	}, wm.Timeout(500*time.Millisecond), st.inbox)
	st.wantOnce(t)
	require.GreaterOrEqual(t, st.handled.Load(), int32(2))
}

func TestCorrelationIDInside(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.run(t, pass, st.inbox, wm.CorrelationID)
	st.wantOnce(t)
	require.Equal(t, map[string]string{"correlation_id": "correlated"}, st.outbox.msgs[0].Headers)
}

// TestCorrelationIDAround sees no messages any more.
func TestCorrelationIDAround(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.run(t, pass, wm.CorrelationID, st.inbox)
	st.wantOnce(t)
	require.Empty(t, st.outbox.msgs[0].Headers)
}

// TestRecommendedOrder has all of them at once.
func TestRecommendedOrder(t *testing.T) {
	t.Parallel()
	st, pub := newStation(t), &poison{}
	queue, err := wm.PoisonQueueWithFilter(pub, "poison", inbox.ShouldPoison)
	require.NoError(t, err)
	retry := wm.Retry{MaxRetries: 5, InitialInterval: time.Millisecond}

	st.run(t, failTwice, wm.Recoverer, queue, retry.Middleware, st.inbox,
		wm.Timeout(time.Minute), wm.CorrelationID, middleware.RollbackOnError)

	st.wantOnce(t)
	require.Empty(t, pub.published)
	require.Equal(t, "correlated", st.outbox.msgs[0].Headers["correlation_id"])
}
