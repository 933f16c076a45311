package inbox_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/meminbox"
)

// A message that can never be read is parked at once, without further attempts.
func ExamplePermanent() {
	var store meminbox.Store
	in, err := meminbox.New("loyalty", meminbox.Config{
		Store:  &store,
		Config: inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 5}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	handle := func(context.Context) error { return inbox.Permanent(errors.New("payload is not JSON")) }
	for range 2 {
		fmt.Println(in.Process(context.Background(), message.NewMessage("order-1 paid", nil), handle))
	}
	parked, err := meminbox.NewAdmin(&store).Parked(context.Background(), admin.ParkedQuery{Consumer: "loyalty"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range parked {
		fmt.Println(p.ID, "is parked:", p.Reason)
	}
	// Output:
	// parked <nil>
	// duplicate <nil>
	// order-1 paid is parked: payload is not JSON
}

// A service that every message needs is unavailable: no attempt is counted, and nothing is parked.
func ExampleOutage() {
	in, err := meminbox.New("loyalty", meminbox.Config{
		Config: inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1, Delay: inbox.NoDelay}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	available := false
	handle := func(context.Context) error {
		if !available {
			return inbox.Outage(errors.New("tax service: no answer"))
		}
		return nil
	}
	for range 3 {
		fmt.Println(in.Process(context.Background(), message.NewMessage("order-1 paid", nil), handle))
	}
	available = true
	fmt.Println(in.Process(context.Background(), message.NewMessage("order-1 paid", nil), handle))
	// Output:
	// failed tax service: no answer
	// failed tax service: no answer
	// failed tax service: no answer
	// committed <nil>
}

// A duplicate gets the reply of the first run.
func ExampleProcessor_ProcessReply() {
	in, err := meminbox.New("quotes", meminbox.Config{Config: inbox.Config{KeepReplies: true}})
	if err != nil {
		fmt.Println(err)
		return
	}
	price := 100
	handle := func(context.Context) ([]byte, error) {
		price++
		return fmt.Appendf(nil, "costs %d", price), nil
	}
	for range 2 {
		reply, outcome, err := in.ProcessReply(context.Background(), message.NewMessage("request-1", nil), handle)
		fmt.Println(string(reply), outcome, err)
	}
	// Output:
	// costs 101 committed <nil>
	// costs 101 duplicate <nil>
}

// The same id with another payload is not taken for a duplicate.
func ExampleFingerprintPayload() {
	in, err := meminbox.New("loyalty", meminbox.Config{Config: inbox.Config{Fingerprint: inbox.FingerprintPayload}})
	if err != nil {
		fmt.Println(err)
		return
	}
	handle := func(context.Context) error { return nil }
	for _, payload := range []string{"10 points", "10 points", "20 points"} {
		outcome, err := in.Process(context.Background(), message.NewMessage("order-1", []byte(payload)), handle)
		fmt.Println(outcome, errors.Is(err, inbox.ErrFingerprintMismatch))
	}
	// Output:
	// committed false
	// duplicate false
	// failed true
}

// CloudEvents on Kafka carry their ids in headers.
func ExampleIDFromCloudEvent() {
	msg := message.NewMessage("made-up-by-the-subscriber", nil)
	msg.Metadata.Set("ce_id", "7")
	msg.Metadata.Set("ce_source", "/orders")
	fmt.Println(inbox.IDFromCloudEvent().Find(msg))
	// Output: /orders 7 <nil>
}
