package skiplocked

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/stage"
)

// strangers are two messages that have nothing to do with each other. The second
// one is committed first, and read before the first is committed.
func strangers() []gallery.Event {
	return []gallery.Event{{ID: "slow", Key: "order-1"}, {ID: "quick", Key: "order-2"}}
}

// straddle inserts the first message, commits the second one, reads, commits the
// first, and reads again.
func straddle(ctx context.Context, s *stage.Stage, insert func(context.Context, pgx.Tx, gallery.Event) error, read func() error) error {
	all := strangers()
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		if err := insert(ctx, tx, all[0]); err != nil {
			return err
		}
		s.Say("  %s is inserted", all[0].ID)
		err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error { return insert(ctx, tx, all[1]) })
		s.Say("  %s is inserted and committed", all[1].ID)
		return errors.Join(err, read())
	})
	s.Say("  %s is committed", all[0].ID)
	return errors.Join(err, read())
}

func lateAsWritten(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
	o, err := newOutbox(ctx, s, "late")
	if err != nil {
		return gallery.Outcome{}, err
	}
	var topic stage.Log
	var last int64
	err = straddle(ctx, s, o.insert, func() (err error) {
		last, err = o.follow(ctx, last, func(event string) { topic.Add(event) })
		s.Say("  the relay is at id %d, published so far: %v", last, topic.IDs())
		return err
	})
	return gallery.Judge(strangers(), topic.IDs()), err
}

func lateOnLeat(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
	ob, insert, err := leatOutbox(ctx, s, "late")
	if err != nil {
		return gallery.Outcome{}, err
	}
	var topic stage.Log
	err = straddle(ctx, s, insert, func() error {
		err := stage.Drain(ctx, ob, topic.Sink())
		s.Say("  the relay has published so far: %v", topic.IDs())
		return err
	})
	return gallery.Judge(strangers(), topic.IDs()), err
}
