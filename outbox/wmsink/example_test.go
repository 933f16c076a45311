package wmsink_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmsink"
)

func Example() {
	ctx := context.Background()
	pubsub := gochannel.NewGoChannel(gochannel.Config{OutputChannelBuffer: 10}, watermill.NopLogger{})
	defer func() { _ = pubsub.Close() }()
	messages, err := pubsub.Subscribe(ctx, "orders")
	if err != nil {
		fmt.Println(err)
		return
	}

	sink, err := wmsink.New(pubsub, wmsink.Config{Lanes: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	// relay.New(source, sink, relay.Config{}) does this, page after page.
	results := sink.Send(ctx, []outbox.Record{
		{Seq: 1, Message: outbox.Message{ID: "1", Topic: "orders", Key: "customer-7", Type: "Placed", Payload: []byte("body")}},
	})
	msg := <-messages
	msg.Ack()
	fmt.Println(results[0].Err, msg.UUID, msg.Metadata.Get(outbox.HeaderKey), msg.Metadata.Get(outbox.HeaderEventType), string(msg.Payload))

	// Output: <nil> 1 customer-7 Placed body
}
