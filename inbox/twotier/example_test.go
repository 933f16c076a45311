package twotier_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/inbox/twotier"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

// look prints what the caches do.
type look struct{}

func (look) OnTwotierLook(_ context.Context, e twotier.LookEvent) {
	fmt.Println(e.Consumer, e.ID, "skipped:", e.Skipped)
}

// With pginbox, Scope is the inbox's own method, and a rediscache may be
// the Shared cache.
func ExampleNew() {
	in, err := meminbox.New("loyalty", meminbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	scope := func(context.Context) (string, error) { return "this process", nil }
	tiers, err := twotier.New(in.Processor, twotier.Config{Scope: scope, Hooks: []outbox.Hook{look{}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: tiers})
	if err != nil {
		fmt.Println(err)
		return
	}
	h := once(func(msg *message.Message) ([]*message.Message, error) {
		fmt.Println("10 points for", msg.UUID)
		return nil, nil
	})
	for range 3 {
		if _, err := h(message.NewMessage("order-1", nil)); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// loyalty order-1 skipped: false
	// 10 points for order-1
	// loyalty order-1 skipped: true
	// loyalty order-1 skipped: true
}
