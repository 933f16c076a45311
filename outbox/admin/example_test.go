package admin_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// An operator looks for what is parked and why, sees what a redrive would change, and
// redrives. The same code works on every store.
func Example() {
	ctx := context.Background()
	ob, run, err := busyOutbox(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := run(errors.New("no route to 10.1.7.9")); err != nil {
		fmt.Println(err)
		return
	}
	if err := fix(ctx, ob.Admin()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run(nil))
	// Output:
	// 2 records of orders: unknown, leat: delivery failed (unknown): no route to #.#.#.#
	// key 17: 2 records wait
	// key 18: 1 records wait
	// would redrive 2
	// redrove 2
	// sent 17 placed
	// sent 17 paid
	// sent 18 placed
	// <nil>
}

// fix is what the operator does.
func fix(ctx context.Context, ob admin.Outbox) error {
	failures, err := ob.Failures(ctx, admin.FailuresQuery{Topic: "orders"})
	if err != nil {
		return err
	}
	for _, f := range failures {
		fmt.Printf("%d records of %s: %s, %s\n", f.Records, f.Topic, f.Kind, f.Fingerprint)
	}
	keys, err := ob.ParkedKeys(ctx, admin.KeysQuery{})
	if err != nil {
		return err
	}
	for _, k := range keys {
		fmt.Printf("key %s: %d records wait\n", k.Key.Key, k.Records)
	}
	request := admin.ChangeRequest{
		By:        admin.By{Actor: "ann", Reason: "INC-42, the route is back"},
		Selection: admin.Selection{Fingerprint: failures[0].Fingerprint},
		DryRun:    true,
	}
	would, err := ob.Redrive(ctx, request)
	if err != nil {
		return err
	}
	fmt.Println("would redrive", would.Count)
	request.DryRun = false
	done, err := ob.Redrive(ctx, request)
	fmt.Println("redrove", done.Count)
	return err
}

// busyOutbox returns an outbox with three messages, and a function that relays them to a
// destination which refuses all of them with an error, or prints them.
func busyOutbox(ctx context.Context) (ob *memoutbox.Outbox, run func(refusal error) error, err error) {
	ob, err = memoutbox.New(memoutbox.Config{})
	if err != nil {
		return nil, nil, err
	}
	err = ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx,
			outbox.Message{Topic: "orders", Key: "17", Payload: []byte("placed")},
			outbox.Message{Topic: "orders", Key: "17", Payload: []byte("paid")},
			outbox.Message{Topic: "orders", Key: "18", Payload: []byte("placed")})
	})
	return ob, func(refusal error) error {
		sink, err := relay.Func(func(_ context.Context, r outbox.Record) error {
			if refusal == nil {
				fmt.Println("sent", r.Key, string(r.Payload))
			}
			return refusal
		}, relay.FuncConfig{Lanes: 1})
		if err != nil {
			return err
		}
		r, err := relay.New(ob.Source(memoutbox.SourceConfig{}), sink, relay.Config{
			Policies: []relay.Policy{{Topics: "*", Action: relay.Park, Attempts: 1}},
		})
		if err != nil {
			return err
		}
		_, err = r.RunOnce(ctx)
		return err
	}, err
}
