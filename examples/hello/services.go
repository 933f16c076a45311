package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
)

// placed is the event that the shop publishes and the loyalty service receives.
type placed struct {
	Order string `json:"order"`
	Euro  int    `json:"euro"`
}

// shop is the service that produces.
type shop struct{ outbox *memoutbox.Outbox }

// place writes an order and enqueues its event in one transaction, which fails
// with failure if that is not nil.
func (s *shop) place(ctx context.Context, id string, euro int, failure error) error {
	err := s.outbox.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
		body, err := json.Marshal(placed{Order: id, Euro: euro})
		if err != nil {
			return err
		}
		// Here a service would write the order, with the same tx.
		event := outbox.Message{Topic: topic, Key: "customer-7", Type: "order.placed", Payload: body}
		return errors.Join(s.outbox.Enqueue(ctx, tx, event), failure)
	})
	if err != nil {
		fmt.Printf("  shop     %s rolled back, %v: its event never existed\n", id, err)
		return err
	}
	fmt.Printf("  shop     %s committed, %d euro\n", id, euro)
	return nil
}

// loyalty is the service that consumes.
type loyalty struct{ points, runs atomic.Int64 }

// router returns an ordinary Watermill router, with one line added.
func (l *loyalty) router(in *meminbox.Inbox, subscriber message.Subscriber) (*message.Router, error) {
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		return nil, err
	}
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
	if err != nil {
		return nil, err
	}
	handler := router.AddConsumerHandler("loyalty", topic, subscriber, l.count)
	handler.AddMiddleware(once) // this is the line
	return router, nil
}

// count is the handler. Its effect and the memory of the message's id commit
// together, or not at all.
func (l *loyalty) count(msg *message.Message) error {
	var event placed
	if err := json.Unmarshal(msg.Payload, &event); err != nil {
		return err
	}
	l.runs.Add(1)
	fmt.Printf("  loyalty  handler runs for %s\n", event.Order)
	meminbox.OnCommit(msg.Context(), func() { l.points.Add(int64(event.Euro)) })
	return nil
}

// OnInboxDelivery is called by the inbox when a delivery has ended.
func (l *loyalty) OnInboxDelivery(_ context.Context, e inbox.DeliveryEvent) {
	if e.Outcome == inbox.OutcomeDuplicate {
		fmt.Println("  loyalty  knows the message's id: no handler runs")
	}
}

// check reports how it ended.
func (l *loyalty) check(want int64) error {
	points, runs := l.points.Load(), l.runs.Load()
	if points != want || runs != 2 {
		return fmt.Errorf("%d points after %d runs of the handler, want %d after 2", points, runs, want)
	}
	fmt.Printf("\n3 deliveries, %d runs of the handler, %d points: nothing lost, nothing twice.\n", runs, points)
	return nil
}
