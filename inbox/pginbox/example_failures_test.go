package pginbox_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox"
)

// stopAfter stops when a redriven message has taken effect. A service does not
// stop: it redrives for as long as it consumes.
type stopAfter struct {
	id   string
	stop context.CancelFunc
}

// OnInboxDelivery implements inbox.DeliveryHook.
func (s stopAfter) OnInboxDelivery(_ context.Context, d inbox.DeliveryEvent) {
	if d.Redriven && d.ID == s.id && d.Outcome == inbox.OutcomeCommitted {
		s.stop()
	}
}

// The handler cannot deal with a message, so the message is parked, and the next
// one of its key waits behind it. When the handler is fixed both are redriven.
func ExampleNewAdmin() {
	err := onDatabase(func(ctx context.Context, pool *pgxpool.Pool) error {
		redriving, stop := context.WithCancel(ctx)
		in, err := pginbox.New(pool, "loyalty", pginbox.Config{Config: inbox.Config{
			OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 2, Delay: time.Millisecond},
			Hooks:     []outbox.Hook{stopAfter{id: "order-1 shipped", stop: stop}},
		}})
		if err != nil {
			return err
		}
		fixed := false
		handle := func(ctx context.Context, msg *message.Message) error {
			if !fixed {
				return errors.New("customer is unknown")
			}
			_, err := pginbox.Tx(ctx).Exec(ctx, `INSERT INTO points VALUES ($1, 10)`, string(msg.Payload))
			return err
		}
		for _, id := range []string{"order-1 paid", "order-1 paid", "order-1 shipped"} {
			msg := message.NewMessage(id, []byte("alice"))
			msg.Metadata.Set("leat_key", "order-1")
			fmt.Println(in.Process(ctx, msg, func(ctx context.Context) error { return handle(ctx, msg) }))
		}
		operator, err := pginbox.NewAdmin(pool, pginbox.Config{})
		if err != nil {
			return err
		}
		parked, err := operator.Parked(ctx, admin.ParkedQuery{Consumer: "loyalty"})
		if err != nil {
			return err
		}
		for _, p := range parked {
			fmt.Printf("%s: %s %q\n", p.ID, p.State, p.Reason)
		}

		fixed = true
		changed, err := operator.Redrive(ctx, admin.ChangeRequest{
			By:        admin.By{Actor: "alice", Reason: "customers are imported"},
			Consumer:  "loyalty",
			Selection: admin.Selection{Key: "order-1"},
		})
		if err != nil {
			return err
		}
		fmt.Println("redriven:", changed.IDs)
		err = in.RunRedrive(redriving, func(ctx context.Context, msg *message.Message) error {
			fmt.Println("runs:", msg.UUID)
			return handle(ctx, msg)
		})
		if err != nil {
			return err
		}
		var points int
		err = pool.QueryRow(ctx, `SELECT sum(points) FROM points`).Scan(&points)
		fmt.Println(points, "points")
		return err
	})
	fmt.Println(err)
	// Output:
	// failed customer is unknown
	// parked <nil>
	// parked <nil>
	// order-1 paid: parked "customer is unknown"
	// order-1 shipped: wait ""
	// redriven: [order-1 paid]
	// runs: order-1 paid
	// runs: order-1 shipped
	// 20 points
	// <nil>
}
