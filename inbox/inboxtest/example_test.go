package inboxtest_test

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/inbox/inboxtest"
)

// This subscriber of a test repeats messages, the same ones in each run.
func ExampleDuplicator() {
	sub, err := inboxtest.Duplicator{Seed: 2, Late: 2}.Subscriber(newStream(numbered(5, "order-")...))
	if err != nil {
		fmt.Println(err)
		return
	}
	msgs, err := sub.Subscribe(context.Background(), "orders")
	if err != nil {
		fmt.Println(err)
		return
	}
	for msg := range msgs {
		fmt.Println(msg.UUID)
		msg.Ack()
	}
	fmt.Println(sub.Close())
	// Output:
	// order-0
	// order-0
	// order-1
	// order-0
	// order-0
	// order-2
	// order-3
	// order-2
	// order-2
	// order-4
	// order-4
	// <nil>
}

// This publisher mixes up the messages of different keys.
func ExampleReorderer() {
	shelf := &shelf{}
	pub, err := inboxtest.Reorderer{Seed: 4, Key: keyOf}.Publisher(shelf)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := pub.Publish("orders", numbered(3, "alice", "bob")...); err != nil {
		fmt.Println(err)
	}
	fmt.Println(pub.Close(), shelf.ids["orders"])
	// Output: <nil> [alice0 alice1 bob0 bob1 alice2 bob2]
}
