package memoutbox_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/relay"
)

// A service's test enqueues into memory and looks at what has committed.
func Example() {
	ctx := context.Background()
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	placeOrder := func(id string, fail error) error {
		return ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
			err := ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: id, Type: "OrderPlaced"})
			return errors.Join(err, fail)
		})
	}
	fmt.Println(placeOrder("17", nil))
	fmt.Println(placeOrder("18", errors.New("out of stock")))
	for _, m := range ob.Messages() {
		fmt.Println(m.Topic, m.Key, m.Type)
	}
	// Output:
	// <nil>
	// out of stock
	// orders 17 OrderPlaced
}

// A transaction that is open hides its messages; one that commits late shows
// them late, although their numbers are low.
func ExampleOutbox_Begin() {
	ctx := context.Background()
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	late, _ := ob.Begin(ctx)
	quick, _ := ob.Begin(ctx)
	_ = ob.Enqueue(ctx, late, outbox.Message{Topic: "orders", Payload: []byte("late")})
	_ = ob.Enqueue(ctx, quick, outbox.Message{Topic: "orders", Payload: []byte("quick")})
	_ = quick.Commit(ctx)
	fmt.Println(len(ob.Committed()), "of 2 committed")
	_ = late.Commit(ctx)
	for _, r := range ob.Committed() {
		fmt.Println(r.Seq, string(r.Payload))
	}
	// Output:
	// 1 of 2 committed
	// 2 quick
	// 1 late
}

// A relay carries what has committed to a sink, here one that records.
func ExampleOutbox_Source() {
	ctx := context.Background()
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx,
			outbox.Message{Topic: "orders", Key: "17", Payload: []byte("placed")},
			outbox.Message{Topic: "orders", Key: "17", Payload: []byte("paid")})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	broker := outboxtest.NewBroker()
	r, err := relay.New(ob.Source(memoutbox.SourceConfig{}), broker.Sink(), relay.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := r.RunOnce(ctx)
	fmt.Println(n, err)
	for _, rec := range broker.Log() {
		fmt.Println(rec.Topic, rec.Key, string(rec.Payload))
	}
	// Output:
	// 2 <nil>
	// orders 17 placed
	// orders 17 paid
}
