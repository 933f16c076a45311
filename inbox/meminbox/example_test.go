package meminbox_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/meminbox"
)

// An operator looks what has happened to a message, and what a drop would do. The same
// calls work on any store.
func ExampleNewAdmin() {
	ctx, store := context.Background(), &meminbox.Store{}
	in, err := meminbox.New("loyalty", meminbox.Config{
		Store: store, Config: inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range []string{"order-1", "order-2"} {
		msg := message.NewMessage(id, nil)
		fmt.Println(in.Process(ctx, msg, func(context.Context) error {
			return inbox.Permanent(fmt.Errorf("customer of %s is unknown", id))
		}))
	}
	if err := operate(ctx, meminbox.NewAdmin(store)); err != nil {
		fmt.Println(err)
	}
	// Output:
	// parked <nil>
	// parked <nil>
	// 2 messages of loyalty: customer of # is unknown
	// order-1 is parked for loyalty
	// order-3 is not_seen for loyalty
	// would drop [order-1]
	// typo is unknown: true
	// park order-2 by loyalty
}

func operate(ctx context.Context, in admin.Inbox) error {
	failures, err := in.Failures(ctx, admin.FailuresQuery{})
	if err != nil {
		return err
	}
	for _, f := range failures {
		fmt.Printf("%d messages of %s: %s\n", f.Count, f.Consumer, f.Fingerprint)
	}
	for _, id := range []string{"order-1", "order-3"} {
		seen, err := in.Lookup(ctx, admin.LookupQuery{ID: id})
		if err != nil {
			return err
		}
		for _, s := range seen {
			fmt.Println(id, "is", s.State, "for", s.Consumer)
		}
	}
	changed, err := in.Drop(ctx, admin.ChangeRequest{
		By:       admin.By{Actor: "ann", Reason: "the customer has left"},
		Consumer: "loyalty", Selection: admin.Selection{ID: "order-1"}, DryRun: true,
	})
	if err != nil {
		return err
	}
	fmt.Println("would drop", changed.IDs)
	_, err = in.Attempts(ctx, admin.AttemptsQuery{Consumer: "typo"})
	fmt.Println("typo is unknown:", errors.Is(err, admin.ErrUnknownConsumer))

	auditor, ok := in.(admin.Auditor) // what a store can do beyond admin.Inbox
	if !ok {
		return nil
	}
	newest, err := auditor.Audit(ctx, admin.AuditQuery{Newest: true, Limit: 1})
	for _, e := range newest {
		fmt.Println(e.Action, e.ID, "by", e.Actor)
	}
	return err
}
