package wmoutbox_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

// placeOrder is business code: it knows Watermill's interface, and passes on the
// context that carries its transaction.
func placeOrder(ctx context.Context, publisher message.Publisher, order string) error {
	msg := message.NewMessageWithContext(ctx, "event of "+order, []byte("placed"))
	msg.Metadata.Set(outbox.HeaderKey, order)
	return publisher.Publish("orders", msg)
}

// One publisher serves the whole process. Which transaction a message belongs to
// stands in the message's context. With PostgreSQL, ob is a *pgoutbox.Outbox.
func ExampleNewPublisher() {
	ctx := context.Background()
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	publisher, err := wmoutbox.NewPublisher(ob, wmoutbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}

	err = ob.InTx(ctx, func(ctx context.Context, _ *memoutbox.Tx) error {
		return placeOrder(ctx, publisher, "order 17")
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range ob.Committed() {
		fmt.Printf("%s: %s on %s, key %s\n", m.ID, m.Payload, m.Topic, m.Key)
	}

	err = placeOrder(ctx, publisher, "order 18")
	fmt.Println("without a transaction:", errors.Is(err, outbox.ErrNotInTransaction))
	// Output:
	// event of order 17: placed on orders, key order 17
	// without a transaction: true
}
