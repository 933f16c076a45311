package inbox_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
)

// A message takes effect once, however often it is delivered, and a failed
// delivery leaves no trace.
func ExampleProcessor_Process() {
	in, err := meminbox.New("loyalty", meminbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	points := 0
	for _, failure := range []error{context.DeadlineExceeded, nil, nil} {
		outcome, err := in.Process(ctx, message.NewMessage("order-1 paid", nil), func(ctx context.Context) error {
			meminbox.OnCommit(ctx, func() { points += 10 })
			return failure
		})
		fmt.Println(outcome, err, points)
	}
	// Output:
	// failed context deadline exceeded 0
	// committed <nil> 10
	// duplicate <nil> 10
}

// Producers that are not Watermill programs send their ids as headers.
func ExampleIDFromFirst() {
	source := inbox.IDFromFirst(inbox.IDFromHeader("ce_id", "id"), inbox.IDFromUUID())

	msg := message.NewMessage("made-up-by-the-subscriber", nil)
	msg.Metadata.Set("ce_id", "cloud-event-7")
	fmt.Println(source.Find(msg))
	// Output: cloud-event-7 <nil>
}

// Two tenants that happen to use one id have two messages.
func ExampleIDWithin() {
	source := inbox.IDWithin("tenant", func(msg *message.Message) (string, error) {
		return msg.Metadata.Get("tenant"), nil // set by the gateway, and not by the tenant
	}, inbox.DefaultIDSource())

	for _, tenant := range []string{"acme", "globex"} {
		msg := message.NewMessage("order-1", nil)
		msg.Metadata.Set("tenant", tenant)
		fmt.Println(source.Find(msg))
	}
	// Output:
	// "acme" order-1 <nil>
	// "globex" order-1 <nil>
}

// A handler that runs again makes the same ids.
func ExampleChildID() {
	fmt.Println(inbox.ChildID("order-1", "billing", "invoice"))
	fmt.Println(inbox.ChildID("order-1", "billing", "receipt"))
	// Output:
	// f89b44d4-81f0-5ab0-a723-7ad526615ee9
	// 0d661c4d-70c5-5bc0-b9a8-c4007b162caf
}
