package middleware_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/middleware"
)

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
