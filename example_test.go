package leat_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/leat-go/leat"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/wmsink"
)

// A shop places orders, and gives points for each. On PostgreSQL and Kafka it is the same
// program with pgoutbox, pginbox, kafkasink and kafkasource.
func Example() {
	if err := shop(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 30 points for order-1
}

func shop(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	broker := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		return err
	}
	in, err := meminbox.New("shop", meminbox.Config{})
	if err != nil {
		return err
	}
	sink, err := wmsink.New(broker, wmsink.Config{})
	if err != nil {
		return err
	}
	service, err := leat.New(leat.Config{Outbox: ob, Inbox: in, Sink: sink})
	if err != nil {
		return err
	}
	router := service.Router(nil)
	router.AddConsumerHandler("loyalty", "orders", broker, func(msg *message.Message) error {
		meminbox.OnCommit(msg.Context(), func() {
			fmt.Println(string(msg.Payload), "points for", msg.Metadata.Get(outbox.HeaderKey))
			stop()
		})
		return nil
	})
	err = ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: "order-1", Payload: []byte("30")})
	})
	if err != nil {
		return err
	}
	return service.Run(ctx)
}
