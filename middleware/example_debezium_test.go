package middleware_test

import (
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware"
)

// A consumer of leat's own table, whose messages Debezium or a relay sends.
func ExampleDebezium() {
	in, err := meminbox.New("billing", meminbox.Config{})
	if err != nil {
		panic(err)
	}
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
	if err != nil {
		panic(err)
	}
	handle := middleware.Debezium(once(func(msg *message.Message) ([]*message.Message, error) {
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
