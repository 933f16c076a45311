package skiplocked

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/stage"
	lob "github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

var errRefused = errors.New("the broker refuses it")

// pair are two messages of one key.
func pair() []gallery.Event {
	return []gallery.Event{{ID: "ordered", Key: "order-1"}, {ID: "cancelled", Key: "order-1"}}
}

// failureAsWritten: the first message is refused once. The relay goes on, since one
// message must not hold up all others, and publishes it in the next round.
func failureAsWritten(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
	o, err := newOutbox(ctx, s, "failure")
	if err != nil {
		return gallery.Outcome{}, err
	}
	all := pair()
	if err := insertAll(ctx, s, o.insert, all); err != nil {
		return gallery.Outcome{}, err
	}
	var topic stage.Log
	var before bool
	for range 2 {
		err = errors.Join(err, o.relay(ctx, func(event string) error {
			if event == all[0].ID && !before {
				before = true
				return errRefused
			}
			s.Say("  %s is published", event)
			topic.Add(event)
			return nil
		}))
	}
	return gallery.Judge(all, topic.IDs()), err
}

// failureOnLeat: the relay holds back what comes after it in its key.
func failureOnLeat(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
	ob, insert, err := leatOutbox(ctx, s, "failure")
	if err != nil {
		return gallery.Outcome{}, err
	}
	all := pair()
	if err := insertAll(ctx, s, insert, all); err != nil {
		return gallery.Outcome{}, err
	}
	var topic stage.Log
	var before atomic.Bool
	sink, err := relay.Func(func(_ context.Context, r lob.Record) error {
		if r.ID == all[0].ID && before.CompareAndSwap(false, true) {
			s.Say("  %s: %v; the relay holds back what follows in its key", r.ID, errRefused)
			return errRefused
		}
		s.Say("  %s is published", r.ID)
		topic.Add(r.ID)
		return nil
	}, relay.FuncConfig{})
	if err != nil {
		return gallery.Outcome{}, err
	}
	err = stage.Drain(ctx, ob, sink)
	return gallery.Judge(all, topic.IDs()), err
}
