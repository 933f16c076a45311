package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	wm "github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

// A message that fails three times is given up, and says why. The rest goes on.
func ExampleNewDeadLetter() {
	counter, err := middleware.NewMemoryAttempts(10_000)
	if err != nil {
		fmt.Println(err)
		return
	}
	pubsub := gochannel.NewGoChannel(gochannel.Config{Persistent: true, BlockPublishUntilSubscriberAck: true}, nil)
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		fmt.Println(err)
		return
	}
	attempts, err := middleware.NewAttempts(middleware.AttemptsConfig{Counter: counter})
	if err != nil {
		fmt.Println(err)
		return
	}
	deadLetter, err := middleware.NewDeadLetter(middleware.DeadLetterConfig{Publisher: pubsub, Topic: "orders.dead", After: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	router.AddMiddleware(attempts, deadLetter, wm.Recoverer)
	router.AddConsumerHandler("points", "orders", pubsub, func(msg *message.Message) error {
		n, _ := middleware.AttemptFrom(msg.Context())
		fmt.Println("delivery", n, "of", msg.UUID)
		if msg.UUID == "order-1" {
			return errors.New("no such customer")
		}
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _ = router.Run(ctx) }()
	<-router.Running()
	for _, id := range []string{"order-1", "order-2"} {
		if err := pubsub.Publish("orders", message.NewMessage(id, nil)); err != nil {
			fmt.Println(err)
		}
	}
	dead, err := pubsub.Subscribe(ctx, "orders.dead")
	if err != nil {
		fmt.Println(err)
		return
	}
	msg := <-dead
	fmt.Println(msg.UUID, "given up after", msg.Metadata.Get(middleware.HeaderDeadAttempts), "deliveries:", msg.Metadata.Get(middleware.HeaderDeadReason))
	msg.Ack()
	if err := router.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// delivery 1 of order-1
	// delivery 2 of order-1
	// delivery 3 of order-1
	// delivery 1 of order-2
	// order-1 given up after 3 deliveries: no such customer
}

// Attempts tells a handler that it has been here before.
func ExampleNewAttempts() {
	counter, err := middleware.NewMemoryAttempts(10_000)
	if err != nil {
		fmt.Println(err)
		return
	}
	attempts, err := middleware.NewAttempts(middleware.AttemptsConfig{Counter: counter})
	if err != nil {
		fmt.Println(err)
		return
	}
	h := attempts(func(msg *message.Message) ([]*message.Message, error) {
		n, _ := middleware.AttemptFrom(msg.Context())
		fmt.Println("attempt", n)
		if n < 3 {
			return nil, errors.New("not yet")
		}
		return nil, nil
	})
	for range 3 {
		_, err := h(message.NewMessage("order-1", nil))
		fmt.Println(err)
	}
	// Output:
	// attempt 1
	// not yet
	// attempt 2
	// not yet
	// attempt 3
	// <nil>
}

// Backoff tries again in place, outside the inbox: each try has a transaction of
// its own.
func ExampleNewBackoff() {
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
	backoff, err := middleware.NewBackoff(middleware.BackoffConfig{Initial: time.Millisecond, Retries: 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	tries := 0
	h := backoff(once(func(msg *message.Message) ([]*message.Message, error) {
		meminbox.FromContext(msg.Context()).OnCommit(func() { fmt.Println("10 points") })
		if tries++; tries < 3 {
			return nil, errors.New("try again")
		}
		return nil, nil
	}))
	_, err = h(message.NewMessage("order-1", nil))
	fmt.Println(tries, "tries:", err)
	// Output:
	// 10 points
	// 3 tries: <nil>
}

// counts is what a metrics library would count.
type counts struct{ ok, failed, panicked int }

func (c *counts) OnMiddlewareHandle(_ context.Context, e middleware.HandleEvent) {
	switch {
	case e.Panicked:
		c.panicked++
	case e.Err != nil:
		c.failed++
	default:
		c.ok++
	}
}

func ExampleNewMetrics() {
	c := &counts{}
	metrics, err := middleware.NewMetrics(middleware.MetricsConfig{Hooks: []outbox.Hook{c}})
	if err != nil {
		fmt.Println(err)
		return
	}
	h := wm.Recoverer(metrics(func(msg *message.Message) ([]*message.Message, error) {
		switch msg.UUID {
		case "bad":
			return nil, errors.New("on purpose")
		case "worse":
			panic("on purpose")
		}
		return nil, nil
	}))
	for _, id := range []string{"good", "bad", "worse", "good"} {
		_, _ = h(message.NewMessage(id, nil))
	}
	fmt.Printf("%+v\n", *c)
	// Output: {ok:2 failed:1 panicked:1}
}

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
