package middleware_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

// stream is a subscriber that has all its messages in flight at once, in order.
type stream struct {
	msgs    []*message.Message
	topics  []string
	endless bool // stays open when all are out
	closing chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
}

func newStream(endless bool, msgs ...*message.Message) *stream {
	return &stream{msgs: msgs, endless: endless, closing: make(chan struct{})}
}

func (s *stream) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	out := make(chan *message.Message)
	s.wg.Go(func() {
		defer close(out)
		for _, msg := range s.msgs {
			msg.SetContext(ctx)
			select {
			case out <- msg:
			case <-s.closing:
				return
			case <-ctx.Done():
				return
			}
		}
		if s.endless {
			select {
			case <-s.closing:
			case <-ctx.Done():
			}
		}
	})
	return out, nil
}

func (s *stream) SubscribeInitialize(topic string) error {
	s.topics = append(s.topics, topic)
	return nil
}

func (s *stream) Close() error {
	s.once.Do(func() { close(s.closing) })
	s.wg.Wait()
	return nil
}

// keyed returns n messages of each key, in turn.
func keyed(n int, keys ...string) []*message.Message {
	var msgs []*message.Message
	for i := range n {
		for _, key := range keys {
			msg := message.NewMessage(fmt.Sprintf("%s%d", key, i), nil)
			msg.Metadata.Set(outbox.HeaderKey, key)
			msgs = append(msgs, msg)
		}
	}
	return msgs
}

// route runs handle on the messages of sub through a router, until stop is
// called.
func route(t *testing.T, sub message.Subscriber, c *middleware.ConcurrentlyConfig, handle message.NoPublishHandlerFunc) (stop func()) {
	t.Helper()
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	require.NoError(t, err)
	if c != nil {
		router.AddSubscriberDecorators(must(middleware.NewConcurrently(*c)))
	}
	router.AddConsumerHandler("handler", "in", sub, handle)
	ended := make(chan error, 1)
	go func() { ended <- router.Run(context.WithoutCancel(t.Context())) }()
	<-router.Running()
	return func() {
		require.NoError(t, router.Close())
		require.NoError(t, <-ended)
	}
}

// TestConcurrently: handlers of all keys run at the same time, those of one key
// in order.
func TestConcurrently(t *testing.T) {
	t.Parallel()
	keys := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	msgs := keyed(50, keys...)
	var mu sync.Mutex
	seen := make(map[string][]string)
	var all, together sync.WaitGroup
	all.Add(len(msgs))
	together.Add(len(keys))
	stop := route(t, newStream(true, msgs...), &middleware.ConcurrentlyConfig{Limit: 8}, func(msg *message.Message) error {
		defer all.Done()
		key := msg.Metadata.Get(outbox.HeaderKey)
		msg.Metadata.Set(outbox.HeaderKey, "changed")
		mu.Lock()
		seen[key] = append(seen[key], msg.UUID)
		first := len(seen[key]) == 1
		mu.Unlock()
		if first { // which none leaves before all are in
			together.Done()
			together.Wait()
		}
		return nil
	})
	all.Wait()
	stop()
	for _, key := range keys {
		want := make([]string, 50)
		for i := range want {
			want[i] = fmt.Sprintf("%s%d", key, i)
		}
		require.Equal(t, want, seen[key])
	}
}

// TestConcurrently_KeyIsOneAtATime: while a handler runs, the next of its key
// does not; the router alone, as the negative control, runs it.
func TestConcurrently_KeyIsOneAtATime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]*middleware.ConcurrentlyConfig{"ours": {}, "control": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			msgs := append(keyed(2, "a"), keyed(1, "z")...)
			entered := make(chan string)
			leave := make(chan struct{})
			stop := route(t, newStream(true, msgs...), c, func(msg *message.Message) error {
				select {
				case entered <- msg.UUID:
				case <-msg.Context().Done():
				}
				if msg.UUID != "z0" {
					select {
					case <-leave:
					case <-msg.Context().Done():
					}
				}
				return nil
			})
			defer stop()
			both := map[string]bool{<-entered: true, <-entered: true}
			if c == nil {
				both[<-entered] = true
				require.True(t, both["a0"] && both["a1"], "both of a key at the same time")
				close(leave)
				return
			}
			require.Equal(t, map[string]bool{"a0": true, "z0": true}, both, "another key goes on")
			select {
			case id := <-entered:
				require.Fail(t, "entered too early", id)
			case <-msgs[2].Acked():
			}
			close(leave)
			require.Equal(t, "a1", <-entered)
		})
	}
}

// TestConcurrently_Limits: no more than Limit run, no more than InFlight are
// held.
func TestConcurrently_Limits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := must(middleware.NewConcurrently(middleware.ConcurrentlyConfig{
			Limit: 2, InFlight: 3, Key: func(*message.Message) string { return "" },
		}))
		msgs := keyed(10, "a")
		in := make(chan *message.Message)
		sub, err := c(chanSubscriber{in})
		require.NoError(t, err)
		out, err := sub.Subscribe(t.Context(), "in")
		require.NoError(t, err)
		for _, msg := range msgs[:3] {
			in <- msg
		}
		first, second := <-out, <-out
		synctest.Wait()
		select {
		case in <- msgs[3]:
			require.Fail(t, "a fourth is held")
		case <-out:
			require.Fail(t, "a third is out")
		default:
		}
		second.Nack()
		third := <-out
		require.Equal(t, []string{"a0", "a1", "a2"}, []string{first.UUID, second.UUID, third.UUID})
		in <- msgs[3]
		require.NoError(t, sub.Close())
		_, open := <-out
		require.False(t, open)
		<-msgs[3].Nacked() // what was not handed over
	})
}

// TestConcurrently_HoldsTheKey: until a message is acked or nacked nothing of its
// key is handed over, while others are.
func TestConcurrently_HoldsTheKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		msgs := append(keyed(3, "a"), keyed(1, "z")...)
		sub, err := must(middleware.NewConcurrently(middleware.ConcurrentlyConfig{}))(newStream(true, msgs...))
		require.NoError(t, err)
		out, err := sub.Subscribe(t.Context(), "in")
		require.NoError(t, err)
		require.Same(t, msgs[0], <-out)
		require.Same(t, msgs[3], <-out)
		for i, settle := range []func() bool{msgs[0].Ack, msgs[1].Nack} {
			synctest.Wait()
			select {
			case msg := <-out:
				require.Fail(t, "too early", msg.UUID)
			default:
			}
			settle()
			require.Same(t, msgs[i+1], <-out)
		}
		require.NoError(t, sub.Close())
	})
}

// chanSubscriber hands over what comes on its channel, which it never closes.
type chanSubscriber struct{ in chan *message.Message }

func (c chanSubscriber) Subscribe(context.Context, string) (<-chan *message.Message, error) {
	return c.in, nil
}
func (chanSubscriber) Close() error { return nil }

// TestConcurrently_Ends: with the stream, when all is acked; with the context,
// at once.
func TestConcurrently_Ends(t *testing.T) {
	t.Parallel()
	inner := newStream(false, keyed(2, "a")...)
	sub, err := must(middleware.NewConcurrently(middleware.ConcurrentlyConfig{}))(inner)
	require.NoError(t, err)
	require.NoError(t, sub.(message.SubscribeInitializer).SubscribeInitialize("in"))
	require.Equal(t, []string{"in"}, inner.topics)
	out, err := sub.Subscribe(t.Context(), "in")
	require.NoError(t, err)
	for range 2 {
		(<-out).Ack()
	}
	_, open := <-out
	require.False(t, open)

	ctx, cancel := context.WithCancel(t.Context())
	msgs := keyed(3, "b")
	sub, err = must(middleware.NewConcurrently(middleware.ConcurrentlyConfig{}))(newStream(true, msgs...))
	require.NoError(t, err)
	out, err = sub.Subscribe(ctx, "in")
	require.NoError(t, err)
	held := <-out
	cancel()
	_, open = <-out
	require.False(t, open)
	require.NoError(t, sub.Close())
	require.Equal(t, "b0", held.UUID)
}
