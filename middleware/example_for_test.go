package middleware_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware"
)

// One line for all handlers of a router: each has an inbox of its own, called by its
// name, such as "shop/points".
func ExampleNewInbox_for() {
	in, err := meminbox.New("shop", meminbox.Config{})
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
	once, err := middleware.NewInbox(middleware.InboxConfig{For: in.For})
	if err != nil {
		fmt.Println(err)
		return
	}
	router.AddMiddleware(once)
	for _, name := range []string{"points", "mail"} {
		router.AddConsumerHandler(name, "orders", pubsub, func(msg *message.Message) error {
			meminbox.OnCommit(msg.Context(), func() { fmt.Println(name, "for", msg.UUID) })
			return nil
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _ = router.Run(ctx) }()
	<-router.Running()

	for _, id := range []string{"order-1", "order-1"} {
		if err := pubsub.Publish("orders", message.NewMessage(id, nil)); err != nil {
			fmt.Println(err)
		}
	}
	if err := router.Close(); err != nil {
		fmt.Println(err)
	}
	// Unordered output:
	// points for order-1
	// mail for order-1
}
