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

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware"
)

// TestRecommendedOrder is the router of docs/middleware.md: failures are tried
// again in place and given up to another topic, while each key stays in order
// and the others go on.
func TestRecommendedOrder(t *testing.T) {
	t.Parallel()
	dead := &letters{}
	msgs := keyed(4, "fine", "fails", "panics", "flaky")
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	require.NoError(t, err)
	router.AddSubscriberDecorators(must(middleware.NewConcurrently(middleware.ConcurrentlyConfig{})))
	router.AddMiddleware(
		wm.Recoverer,
		must(wm.PoisonQueueWithFilter(dead, "dead", inbox.ShouldPoison)),
		wm.Retry{MaxRetries: 2, InitialInterval: time.Millisecond, Multiplier: 2, ResetContextOnRetry: true}.Middleware,
		wm.Recoverer, // so that what panics is given up too
		must(middleware.NewInbox(middleware.InboxConfig{Processor: newInbox(t)})),
		wm.Timeout(time.Minute),
		wm.CorrelationID,
		middleware.RollbackOnError,
	)
	var mu sync.Mutex
	effects, calls := make(map[string][]string), make(map[string]int)
	router.AddConsumerHandler("handler", "in", newStream(true, msgs...), func(msg *message.Message) error {
		key := msg.Metadata.Get("leat_key")
		mu.Lock()
		defer mu.Unlock()
		meminbox.OnCommit(msg.Context(), func() {
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
	require.ElementsMatch(t, []string{"fails1", "panics1"}, dead.given)
	require.Equal(t, 3, calls["fails1"])
}

// letters is a publisher that takes the ids of what it gets.
type letters struct {
	mu    sync.Mutex
	given []string
}

func (l *letters) Publish(_ string, msgs ...*message.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range msgs {
		l.given = append(l.given, m.UUID)
	}
	return nil
}

func (*letters) Close() error { return nil }
