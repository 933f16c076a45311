package pgoutbox_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// pickySink rejects one payload permanently, until it is fixed.
type pickySink struct {
	refuse string
}

func (s *pickySink) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	refused := map[string]bool{} // keys with a refused record: nothing is sent past it
	for i, r := range records {
		switch {
		case refused[r.Key]:
			results[i] = outbox.NotSent()
		case string(r.Payload) == s.refuse:
			refused[r.Key] = true
			results[i] = outbox.Failed(outbox.FailurePermanent, errors.New("too large"))
		default:
			fmt.Printf("sent %s %s\n", r.Key, r.Payload)
		}
	}
	return results
}

// relayAll relays what has been committed, and what is due for a retry.
func relayAll(ctx context.Context, ob *pgoutbox.Outbox, sink driver.Sink) error {
	source, err := ob.Source(pgoutbox.SourceConfig{})
	if err != nil {
		return err
	}
	r, err := relay.New(source, sink, relay.Config{})
	if err != nil {
		return err
	}
	_, err = r.RunOnce(ctx)
	return err
}

// placeOrders commits messages of two keys.
func placeOrders(ctx context.Context, ob *pgoutbox.Outbox) error {
	return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return ob.Enqueue(ctx, tx,
			outbox.Message{ID: "m-1", Topic: "orders", Key: "o-1", Payload: []byte("placed")},
			outbox.Message{ID: "m-2", Topic: "orders", Key: "o-1", Payload: []byte("paid")},
			outbox.Message{ID: "m-3", Topic: "orders", Key: "o-1", Payload: []byte("shipped")},
			outbox.Message{ID: "m-4", Topic: "orders", Key: "o-2", Payload: []byte("placed")},
		)
	})
}

// A record that cannot be delivered is parked, together with all later records of its key; other keys go
// on. After a redrive, the key continues where it stopped, in order.
func ExampleOutbox_Admin_redrive() {
	err := onDatabase(func(ctx context.Context, _ *pgxpool.Pool, ob *pgoutbox.Outbox) error {
		sink := &pickySink{refuse: "paid"}
		if err := errors.Join(placeOrders(ctx, ob), relayAll(ctx, ob, sink)); err != nil {
			return err
		}
		fmt.Println("the limit is raised")
		sink.refuse = ""
		changed, err := ob.Admin().Redrive(ctx, admin.ChangeRequest{
			By:        admin.By{Actor: "ann", Reason: "the limit was raised, see #812"},
			Selection: admin.Selection{Topic: "orders", Key: "o-1"},
		})
		fmt.Println("redriven", changed.IDs, err)
		return relayAll(ctx, ob, sink)
	})
	fmt.Println(err)
	// Output:
	// sent o-1 placed
	// sent o-2 placed
	// the limit is raised
	// redriven [m-2] <nil>
	// sent o-1 paid
	// sent o-1 shipped
	// <nil>
}

// A parked record shows why it was parked and what waits behind it.
func ExampleOutbox_Admin_held() {
	err := onDatabase(func(ctx context.Context, _ *pgxpool.Pool, ob *pgoutbox.Outbox) error {
		sink := &pickySink{refuse: "paid"}
		if err := errors.Join(placeOrders(ctx, ob), relayAll(ctx, ob, sink)); err != nil {
			return err
		}
		parked, err := ob.Admin().Held(ctx, admin.HeldQuery{State: admin.HeldParked, Topic: "ord*"})
		if err != nil {
			return err
		}
		for _, p := range parked {
			if p.Waits {
				fmt.Println(p.ID, p.Key, "waits")
				continue
			}
			fmt.Println(p.ID, p.Key, p.Errors[0].Kind+":", p.Errors[0].Error)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// sent o-1 placed
	// sent o-2 placed
	// m-2 o-1 permanent: leat: delivery failed (permanent): too large
	// m-3 o-1 waits
	// <nil>
}

// Every change names who asks for it and why, and can be read afterwards.
func ExampleOutbox_Admin_skipHead() {
	err := onDatabase(func(ctx context.Context, _ *pgxpool.Pool, ob *pgoutbox.Outbox) error {
		sink := &pickySink{refuse: "paid"}
		if err := errors.Join(placeOrders(ctx, ob), relayAll(ctx, ob, sink)); err != nil {
			return err
		}
		_, err := ob.Admin().SkipHead(ctx, admin.SkipHeadRequest{
			By:  admin.By{Actor: "ann", Reason: "paid twice"},
			Key: driver.Key{Topic: "orders", Key: "o-1"},
		})
		if err := errors.Join(err, relayAll(ctx, ob, sink)); err != nil {
			return err
		}
		entries, err := ob.Admin().Audit(ctx, admin.AuditQuery{Action: "skip_head"})
		for _, e := range entries {
			fmt.Println(e.Actor, e.Action, e.ID+":", e.Reason)
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// sent o-1 placed
	// sent o-2 placed
	// sent o-1 shipped
	// ann skip_head m-2: paid twice
	// <nil>
}
