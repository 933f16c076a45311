package inbox_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/outbox"
)

// redeliverer is a subscriber with any number of messages in flight, which
// delivers what is refused again, as a new message.
type redeliverer struct {
	pending chan *message.Message
	acked   chan string
	closing chan struct{}
	err     error
}

func newRedeliverer(ids ...string) *redeliverer {
	r := &redeliverer{pending: make(chan *message.Message, 10_000), acked: make(chan string, 10_000), closing: make(chan struct{})}
	for _, id := range ids {
		r.pending <- message.NewMessage(id, nil)
	}
	return r
}

func (r *redeliverer) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	if r.err != nil {
		return nil, r.err
	}
	out := make(chan *message.Message)
	go func() {
		defer close(out)
		for {
			select {
			case msg := <-r.pending:
				select {
				case out <- msg:
					go r.watch(msg)
				case <-ctx.Done():
					return
				}
			case <-r.closing:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

func (r *redeliverer) watch(msg *message.Message) {
	select {
	case <-msg.Acked():
		r.acked <- msg.UUID
	case <-msg.Nacked():
		r.pending <- message.NewMessage(msg.UUID, msg.Payload)
	}
}

func (r *redeliverer) Close() error {
	close(r.closing)
	return nil
}

func newBatcher(t *testing.T, process inbox.BatchFunc, cfg inbox.BatcherConfig) *inbox.Batcher {
	t.Helper()
	b, err := inbox.NewBatcher(process, cfg)
	require.NoError(t, err)
	return b
}

// run starts Run and returns what ends it and waits for it.
func run(t *testing.T, b *inbox.Batcher, subscriber message.Subscriber) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- b.Run(ctx, subscriber, "topic") }()
	return func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

func numbered(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = "m" + strconv.Itoa(i)
	}
	return ids
}

func TestNewBatcherRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	process := func(context.Context, []*message.Message) []error { return nil }
	for want, cfg := range map[string]inbox.BatcherConfig{
		"MaxMessages = -1: must be 1 to 10000":            {MaxMessages: -1},
		"MaxDelay = -1ns: must be positive":               {MaxDelay: -1},
		"RetryDelay = -2ns: must be positive, or NoDelay": {RetryDelay: -2},
		"DrainTimeout = -1ns: must be positive":           {DrainTimeout: -1},
		"process = <nil>: must not be nil":                {},
	} {
		fn := inbox.BatchFunc(process)
		if want[0] == 'p' {
			fn = nil
		}
		_, err := inbox.NewBatcher(fn, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, want)
	}
}

// TestBatcherGathers: full batches at once, and what is left after MaxDelay.
func TestBatcherGathers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		began, last := time.Now(), time.Duration(0)
		b := newBatcher(t, func(_ context.Context, msgs []*message.Message) []error {
			sizes, last = append(sizes, len(msgs)), time.Since(began)
			return make([]error, len(msgs))
		}, inbox.BatcherConfig{MaxMessages: 10, MaxDelay: time.Second})
		subscriber := newRedeliverer(numbered(25)...)
		stop := run(t, b, subscriber)
		for range 25 {
			<-subscriber.acked
		}
		stop()
		require.Equal(t, []int{10, 10, 5}, sizes)
		require.Equal(t, time.Second, last)
	})
}

// TestI1_BatcherWithFailures: each message takes effect once and is acknowledged
// at last, however often it fails before or is delivered.
func TestI1_BatcherWithFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, err := meminbox.New("tester", meminbox.Config{})
		require.NoError(t, err)
		batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{MaxBatch: 7})
		require.NoError(t, err)
		effects, failures := map[string]int{}, map[string]int{}
		b := newBatcher(t, batch.Handle(func(ctx context.Context, msgs []*message.Message) error {
			for i, msg := range msgs {
				if len(msg.UUID)%2 == 0 && failures[msg.UUID] < 3 {
					failures[msg.UUID]++
					return &inbox.MessageError{Index: i, Err: errFake}
				}
				meminbox.OnCommit(ctx, func() { effects[msg.UUID]++ })
			}
			return nil
		}), inbox.BatcherConfig{})
		ids := numbered(150)
		subscriber := newRedeliverer(append(ids, ids...)...)
		stop := run(t, b, subscriber)
		for range 2 * len(ids) {
			<-subscriber.acked
		}
		stop()
		for _, id := range ids {
			require.Equal(t, 1, effects[id], id)
		}
	})
}

// TestBatcherOneInFlight: a subscriber that waits for each ack makes batches of
// one.
func TestBatcherOneInFlight(t *testing.T) {
	t.Parallel()
	pubsub := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, nil)
	done := make(chan int, 3)
	b := newBatcher(t, func(_ context.Context, msgs []*message.Message) []error {
		done <- len(msgs)
		return make([]error, len(msgs))
	}, inbox.BatcherConfig{MaxDelay: time.Millisecond})
	stop := run(t, b, pubsub)
	for _, id := range numbered(3) { // the next once the last is done
		require.NoError(t, pubsub.Publish("topic", message.NewMessage(id, nil)))
		require.Equal(t, 1, <-done)
	}
	stop()
	require.NoError(t, pubsub.Close())
}

func TestBatcherRefusesAllOfAWrongAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		b := newBatcher(t, func(_ context.Context, msgs []*message.Message) []error {
			if calls++; calls == 1 {
				return nil
			}
			return make([]error, len(msgs))
		}, inbox.BatcherConfig{})
		subscriber := newRedeliverer("a", "b")
		stop := run(t, b, subscriber)
		<-subscriber.acked
		<-subscriber.acked
		stop()
		require.Equal(t, 2, calls)
	})
}

// TestBatcherDrains: the batch in work goes on when the context has ended, as
// long as it may.
func TestBatcherDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		working := make(chan struct{})
		b := newBatcher(t, func(ctx context.Context, msgs []*message.Message) []error {
			close(working)
			<-ctx.Done()
			return []error{nil, context.Cause(ctx)}
		}, inbox.BatcherConfig{DrainTimeout: time.Minute})
		subscriber := newRedeliverer("a", "b")
		stop := run(t, b, subscriber)
		<-working
		began := time.Now()
		stop()
		require.Equal(t, time.Minute, time.Since(began))
		require.Equal(t, "a", <-subscriber.acked)
		synctest.Wait()
		require.Equal(t, "b", (<-subscriber.pending).UUID)
	})
}

func TestBatcherEndsWithItsSubscription(t *testing.T) {
	t.Parallel()
	b := newBatcher(t, func(_ context.Context, msgs []*message.Message) []error { return make([]error, len(msgs)) }, inbox.BatcherConfig{})
	subscriber := newRedeliverer("a")
	ended := make(chan error)
	go func() { ended <- b.Run(t.Context(), subscriber, "topic") }()
	<-subscriber.acked
	require.NoError(t, subscriber.Close())
	require.NoError(t, <-ended)

	err := b.Run(t.Context(), &redeliverer{err: errFake}, "topic")
	require.ErrorIs(t, err, errFake)
	require.ErrorContains(t, err, "leat: subscribe to topic")
}
