package meminbox_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/meminbox"
)

// ledger is what the handler needs of its database. The service's own writes in
// pginbox.Tx(ctx).
type ledger interface {
	AddPoint(ctx context.Context, customer string) error
}

// loyalty is the handler under test.
func loyalty(l ledger) func(ctx context.Context, msg *message.Message) error {
	return func(ctx context.Context, msg *message.Message) error { return l.AddPoint(ctx, string(msg.Payload)) }
}

// memoryLedger is a ledger in memory, for tests.
type memoryLedger map[string]int

func (m memoryLedger) AddPoint(ctx context.Context, customer string) error {
	meminbox.OnCommit(ctx, func() { m[customer]++ })
	return nil
}

// A handler whose SQL stands behind an interface is tested without servers: deliver each message
// twice, as every broker does some day. With SQL of its own it is tested on a database, see the
// Example of pginbox.Inbox.
func ExampleInbox() {
	in, err := meminbox.New("shop", meminbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	points := memoryLedger{}
	handle := in.Handle(loyalty(points))
	for _, id := range []string{"order-1", "order-1", "order-2"} {
		if err := handle(message.NewMessage(id, []byte("ann"))); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(points["ann"], "points")
	// Output:
	// 2 points
}
