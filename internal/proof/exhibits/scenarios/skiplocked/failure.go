package skiplocked

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
	lob "github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

var errRefused = errors.New("the broker refuses it")

// pair returns two messages of one key.
func pair() []exhibit.Event {
	return []exhibit.Event{{ID: "ordered", Key: "order-1"}, {ID: "cancelled", Key: "order-1"}}
}

// failureAsWritten: the first message is refused once. The relay goes on, so that one message does not
// hold up all others, and publishes the message in the next round.
func failureAsWritten(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	o, err := newOutbox(ctx, bed, "failure")
	fail.If(err)
	all := pair()
	fail.If(insertAll(ctx, bed, o.insert, all))
	var topic testbed.Log
	var before bool
	for range 2 {
		err = errors.Join(err, o.relay(ctx, func(event string) error {
			if event == all[0].ID && !before {
				before = true
				return errRefused
			}
			bed.Say("  %s is published", event)
			topic.Add(event)
			return nil
		}))
	}
	return exhibit.Judge(all, topic.IDs()), err
}

// failureOnLeat: the relay holds back later messages of the key.
func failureOnLeat(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	ob, insert, err := leatOutbox(ctx, bed, "failure")
	fail.If(err)
	all := pair()
	fail.If(insertAll(ctx, bed, insert, all))
	var topic testbed.Log
	var before atomic.Bool
	sink, err := relay.Func(func(_ context.Context, r lob.Record) error {
		if r.ID == all[0].ID && before.CompareAndSwap(false, true) {
			bed.Say("  %s: %v; the relay holds back what follows in its key", r.ID, errRefused)
			return errRefused
		}
		bed.Say("  %s is published", r.ID)
		topic.Add(r.ID)
		return nil
	}, relay.FuncConfig{})
	fail.If(err)
	err = testbed.Drain(ctx, ob, sink)
	return exhibit.Judge(all, topic.IDs()), err
}
