package middleware_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	wm "github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

// TestRecommendedOrder is the router of docs/middleware.md: failures are tried
// again in place and given up through the outbox, while each key stays in order
// and the others go on.
func TestRecommendedOrder(t *testing.T) {
	t.Parallel()
	counter, err := middleware.NewMemoryAttempts(100)
	require.NoError(t, err)
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	pub, err := wmoutbox.NewPublisher(ob, wmoutbox.Config{})
	require.NoError(t, err)
	hook, tracing := &lockedLedger{}, must(middleware.NewTracing(middleware.TracingConfig{Tracer: quiet{}}))
	dead := must(middleware.NewDeadLetter(middleware.DeadLetterConfig{
		Publisher: pub, Topic: "dead",
		InTx: func(ctx context.Context, publish func(context.Context) error) error {
			return ob.InTx(ctx, func(ctx context.Context, _ *memoutbox.Tx) error { return publish(ctx) })
		},
	}))
	msgs := keyed(4, "fine", "fails", "panics", "flaky")
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	require.NoError(t, err)
	router.AddSubscriberDecorators(must(middleware.NewConcurrently(middleware.ConcurrentlyConfig{})))
	router.AddMiddleware(
		wm.Recoverer,
		must(middleware.NewMetrics(middleware.MetricsConfig{Hooks: []outbox.Hook{hook}})),
		must(middleware.NewAttempts(middleware.AttemptsConfig{Counter: counter})),
		dead,
		must(middleware.NewBackoff(middleware.BackoffConfig{Initial: time.Millisecond, Retries: 2})),
		wm.Recoverer, // so that what panics is given up too
		tracing.Middleware,
		must(middleware.NewInbox(middleware.InboxConfig{Processor: newInbox(t)})),
		tracing.Inside,
		middleware.RollbackOnError,
	)
	var mu sync.Mutex
	effects, calls := make(map[string][]string), make(map[string]int)
	router.AddConsumerHandler("handler", "in", newStream(true, msgs...), func(msg *message.Message) error {
		key := msg.Metadata.Get("leat_key")
		mu.Lock()
		defer mu.Unlock()
		meminbox.FromContext(msg.Context()).OnCommit(func() {
			mu.Lock()
			defer mu.Unlock()
			effects[key] = append(effects[key], msg.UUID)
		})
		calls[msg.UUID]++
		switch {
		case msg.UUID == "fails1":
			return errHandler
		case msg.UUID == "panics1":
			panic("on purpose")
		case key == "flaky" && calls[msg.UUID] < 3:
			return errors.New("try again")
		}
		return nil
	})
	ended := make(chan error, 1)
	go func() { ended <- router.Run(context.WithoutCancel(t.Context())) }()
	for _, msg := range msgs {
		<-msg.Acked()
	}
	require.NoError(t, router.Close())
	require.NoError(t, <-ended)

	require.Equal(t, map[string][]string{
		"fine":   {"fine0", "fine1", "fine2", "fine3"},
		"fails":  {"fails0", "fails2", "fails3"},
		"panics": {"panics0", "panics2", "panics3"},
		"flaky":  {"flaky0", "flaky1", "flaky2", "flaky3"},
	}, effects)
	var given []string
	for _, m := range ob.Messages() {
		require.Equal(t, "dead", m.Topic)
		require.NotEmpty(t, m.Headers[middleware.HeaderDeadReason])
		require.Equal(t, "1", m.Headers[middleware.HeaderDeadAttempts])
		given = append(given, m.ID)
	}
	require.ElementsMatch(t, []string{"fails1", "panics1"}, given)
	require.Equal(t, 3, calls["fails1"])
	require.Zero(t, counter.Len())
	require.Len(t, hook.handled, len(msgs))
}

// lockedLedger is a ledger of several goroutines.
type lockedLedger struct {
	mu sync.Mutex
	ledger
}

func (l *lockedLedger) OnMiddlewareHandle(ctx context.Context, e middleware.HandleEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ledger.OnMiddlewareHandle(ctx, e)
}

// quiet is a tracer of no traces.
type quiet struct{}

func (quiet) Begin(ctx context.Context, _ middleware.Span) (context.Context, func(time.Time, error)) {
	return ctx, func(time.Time, error) {}
}
