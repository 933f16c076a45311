package middleware_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	wm "github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/memdedupe"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

// free is a publisher and an inbox that cost nothing.
type free struct{ published int }

func (f *free) Publish(_ string, msgs ...*message.Message) error {
	f.published += len(msgs)
	return nil
}

func (*free) Close() error { return nil }

func (*free) Process(ctx context.Context, _ *message.Message, handle func(ctx context.Context) error) (inbox.Outcome, error) {
	return inbox.OutcomeCommitted, handle(ctx)
}

// chain wraps h in all, the first outermost.
func chain(h message.HandlerFunc, all ...message.HandlerMiddleware) message.HandlerFunc {
	for _, m := range slices.Backward(all) {
		h = m(h)
	}
	return h
}

// benchDeduper returns a processor on a store in memory.
func benchDeduper(b *testing.B) *dedupe.Processor {
	b.Helper()
	store, err := memdedupe.New(memdedupe.Config{})
	require.NoError(b, err)
	p, err := dedupe.New(store, "tester", dedupe.Config{})
	require.NoError(b, err)
	return p
}

// recommended is the order of docs/middleware.md around an inbox that costs nothing.
func recommended(b *testing.B, f *free) []message.HandlerMiddleware {
	b.Helper()
	poison, err := wm.PoisonQueueWithFilter(f, "dead", inbox.ShouldPoison)
	require.NoError(b, err)
	return []message.HandlerMiddleware{
		poison,
		wm.Retry{MaxRetries: 2}.Middleware,
		must(middleware.NewInbox(middleware.InboxConfig{Processor: f})),
		middleware.RollbackOnError,
	}
}

// BenchmarkMiddleware is what each middleware adds to a message whose handler does
// nothing, and succeeds.
func BenchmarkMiddleware(b *testing.B) {
	f := &free{}
	for _, bench := range []struct {
		name string
		all  []message.HandlerMiddleware
	}{
		{"none", nil},
		{"inbox", []message.HandlerMiddleware{must(middleware.NewInbox(middleware.InboxConfig{Processor: f}))}},
		{"rollback-on-error", []message.HandlerMiddleware{middleware.RollbackOnError}},
		{"recommended", recommended(b, f)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			handled := 0
			h := chain(func(*message.Message) ([]*message.Message, error) {
				handled++
				return nil, nil
			}, bench.all...)
			msg := message.NewMessageWithContext(b.Context(), "0190163d-8694-739b-aea5-966c26f8ad91", make([]byte, 512))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h(msg); err != nil {
					b.Fatal(err)
				}
			}
			require.Equal(b, b.N, handled)
		})
	}
	require.Zero(b, f.published)
}

// BenchmarkInbox is the middleware with an inbox in memory: a message that it knows,
// and new ones.
func BenchmarkInbox(b *testing.B) {
	in, err := meminbox.New("tester", meminbox.Config{})
	require.NoError(b, err)
	handled := 0
	h := must(middleware.NewInbox(middleware.InboxConfig{Processor: in}))(func(*message.Message) ([]*message.Message, error) {
		handled++
		return nil, nil
	})
	b.Run("first", func(b *testing.B) {
		handled = 0
		run := strconv.FormatInt(time.Now().UnixNano(), 10)
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			if _, err := h(message.NewMessageWithContext(b.Context(), run+strconv.Itoa(n), nil)); err != nil {
				b.Fatal(err)
			}
		}
		require.Equal(b, b.N, handled)
	})
	b.Run("duplicate", func(b *testing.B) {
		msg := message.NewMessageWithContext(b.Context(), "known", nil)
		_, err := h(msg)
		require.NoError(b, err)
		handled = 0
		b.ReportAllocs()
		for b.Loop() {
			if _, err := h(msg); err != nil {
				b.Fatal(err)
			}
		}
		require.Zero(b, handled)
	})
}

// BenchmarkDedupe is the middleware on a store in memory: a message that is done.
func BenchmarkDedupe(b *testing.B) {
	handled := 0
	h := must(middleware.NewDedupe(middleware.DedupeConfig{Processor: benchDeduper(b)}))(func(*message.Message) ([]*message.Message, error) {
		handled++
		return nil, nil
	})
	msg := message.NewMessageWithContext(b.Context(), "known", nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h(msg); err != nil {
			b.Fatal(err)
		}
	}
	require.Equal(b, 1, handled)
}

// BenchmarkDedupePublisher publishes messages that were all published before.
func BenchmarkDedupePublisher(b *testing.B) {
	f := &free{}
	pub, err := must(middleware.NewDedupePublisher(middleware.DedupePublisherConfig{Processor: benchDeduper(b)}))(f)
	require.NoError(b, err)
	msgs := make([]*message.Message, 10)
	for i := range msgs {
		msgs[i] = message.NewMessageWithContext(b.Context(), strconv.Itoa(i), nil)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := pub.Publish("orders", msgs...); err != nil {
			b.Fatal(err)
		}
	}
	require.Equal(b, len(msgs), f.published)
}

// tap is a subscriber that makes messages as fast as they are taken.
type tap struct{ keys int }

func (t tap) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	out := make(chan *message.Message)
	go func() {
		defer close(out)
		for n := 0; ; n++ {
			msg := message.NewMessageWithContext(ctx, strconv.Itoa(n), nil)
			msg.Metadata.Set(outbox.HeaderKey, strconv.Itoa(n%t.keys))
			select {
			case out <- msg:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

func (tap) Close() error { return nil }

// BenchmarkConcurrently hands messages over that are acknowledged at once. Bare is
// the subscriber alone, whose messages are made meanwhile.
func BenchmarkConcurrently(b *testing.B) {
	for _, bench := range []struct {
		name string
		keys int
		bare bool
	}{{"bare", 1000, true}, {"keys=1", 1, false}, {"keys=1000", 1000, false}} {
		b.Run(bench.name, func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			var sub message.Subscriber = tap{keys: bench.keys}
			if !bench.bare {
				var err error
				sub, err = must(middleware.NewConcurrently(middleware.ConcurrentlyConfig{}))(sub)
				require.NoError(b, err)
			}
			msgs, err := sub.Subscribe(ctx, "orders")
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if msg := <-msgs; !msg.Ack() {
					b.Fatal("nacked: ", msg.UUID)
				}
			}
			cancel()
			require.NoError(b, sub.Close())
			for range msgs {
				// until it is closed
			}
		})
	}
}
