package middleware_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	wm "github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware"
)

// An existing router gains one line. With pginbox instead of meminbox the
// handler writes in pginbox.Tx(msg.Context()).
func ExampleNewInbox() {
	in, err := meminbox.New("loyalty", meminbox.Config{})
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
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
	if err != nil {
		fmt.Println(err)
		return
	}
	router.AddMiddleware(wm.Recoverer, once)
	router.AddConsumerHandler("points", "orders", pubsub, func(msg *message.Message) error {
		meminbox.OnCommit(msg.Context(), func() { fmt.Println("10 points for", msg.UUID) })
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _ = router.Run(ctx) }()
	<-router.Running()

	for _, id := range []string{"order-1", "order-1", "order-2", "order-1"} {
		if err := pubsub.Publish("orders", message.NewMessage(id, nil)); err != nil {
			fmt.Println(err)
		}
	}
	if err := router.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 10 points for order-1
	// 10 points for order-2
}

// RollbackOnError stands next to the handler, so that what swallows errors
// further out cannot commit a failure.
func ExampleRollbackOnError() {
	in, err := meminbox.New("loyalty", meminbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	h := func(*message.Message) ([]*message.Message, error) { return nil, context.DeadlineExceeded }
	ignore := wm.NewIgnoreErrors([]error{context.DeadlineExceeded}).Middleware

	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
	if err != nil {
		fmt.Println(err)
		return
	}
	guarded := once(ignore(middleware.RollbackOnError(h)))
	_, err = guarded(message.NewMessage("order-1", nil))
	fmt.Println(err)
	// Output: leat: consumer loyalty, message "order-1": not committed: leat: transaction is marked as rollback only: context deadline exceeded
}
