package middleware_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware"
)

// printed is a tracer that prints the spans as they end.
type printed struct{}

func (printed) Begin(ctx context.Context, s middleware.Span) (context.Context, func(time.Time, error)) {
	return ctx, func(_ time.Time, err error) { fmt.Println(s.Kind, s.MessageID, err) }
}

func ExampleNewTracing() {
	in, err := meminbox.New("loyalty", meminbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
	if err != nil {
		fmt.Println(err)
		return
	}
	tracing, err := middleware.NewTracing(middleware.TracingConfig{Tracer: printed{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	h := tracing.Middleware(once(tracing.Inside(
		func(*message.Message) ([]*message.Message, error) { return nil, nil })))
	for range 2 { // the second one is a duplicate
		_, _ = h(message.NewMessage("order-1", nil))
	}
	// Output:
	// claim order-1 <nil>
	// handle order-1 <nil>
	// commit order-1 <nil>
	// process order-1 <nil>
	// process order-1 <nil>
}

// Two customers at the same time, each in order.
func ExampleNewConcurrently() {
	sub := newStream(true, keyed(3, "alice", "bob")...)
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		fmt.Println(err)
		return
	}
	concurrently, err := middleware.NewConcurrently(middleware.ConcurrentlyConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	router.AddSubscriberDecorators(concurrently)
	var mu sync.Mutex
	var done sync.WaitGroup
	done.Add(6)
	order := make(map[string][]string)
	router.AddConsumerHandler("points", "orders", sub, func(msg *message.Message) error {
		defer done.Done()
		mu.Lock()
		defer mu.Unlock()
		key := msg.Metadata.Get("leat_key")
		order[key] = append(order[key], msg.UUID)
		return nil
	})
	go func() { _ = router.Run(context.Background()) }()
	<-router.Running()
	done.Wait()
	if err := router.Close(); err != nil {
		fmt.Println(err)
	}
	fmt.Println(order["alice"], order["bob"])
	// Output: [alice0 alice1 alice2] [bob0 bob1 bob2]
}
