package debezium_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/debezium"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware"
)

// A consumer of leat's own table, whose messages Debezium or a relay sends.
func ExampleMiddleware() {
	in, err := meminbox.New("billing", meminbox.Config{})
	if err != nil {
		panic(err)
	}
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
	if err != nil {
		panic(err)
	}
	handle := debezium.Middleware(once(func(msg *message.Message) ([]*message.Message, error) {
		fmt.Println("invoice for", msg.UUID, "in", msg.Metadata.Get("lang"))
		return nil, nil
	}))
	for range 2 { // Debezium sends it again after a crash
		msg := message.NewMessage("", []byte(`{"order": 7}`))
		msg.Metadata = message.Metadata{"event-id": "018f-7", "leat_headers": `{"lang": "fr"}`}
		if _, err := handle(msg); err != nil {
			panic(err)
		}
	}
	// Output: invoice for 018f-7 in fr
}

// An inbox behind any outbox that Debezium relays, with the header that its router sends.
func ExampleID() {
	in, err := meminbox.New("billing", meminbox.Config{Config: inbox.Config{IDFrom: debezium.ID()}})
	if err != nil {
		panic(err)
	}
	for range 2 {
		msg := message.NewMessage("made up by the subscriber", []byte(`{"order": 7}`))
		msg.Metadata = message.Metadata{"id": "cc74eac7-176b-44e6-8bda-413a5088ca66"}
		outcome, err := in.Process(context.Background(), msg, func(context.Context) error { return nil })
		if err != nil {
			panic(err)
		}
		fmt.Println(outcome)
	}
	// Output:
	// committed
	// duplicate
}
