package outbox_test

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// A message is stored in the transaction of the order, and sent after the commit. With
// PostgreSQL the outbox is that of pgoutbox, and the sink that of kafkasink.
func Example() {
	ctx := context.Background()
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
		// … the order itself, in tx …
		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: "o-1", Type: "order.placed", Payload: []byte("2 teas")})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	sink, err := relay.Func(func(_ context.Context, r outbox.Record) error {
		fmt.Printf("%s of %s: %s\n", r.Type, r.Key, r.Payload)
		return nil
	}, relay.FuncConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := relay.New(ob.Source(memoutbox.SourceConfig{}), sink, relay.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.RunOnce(ctx))
	// Output:
	// order.placed of o-1: 2 teas
	// 1 <nil>
}
