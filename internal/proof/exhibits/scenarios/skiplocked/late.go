package skiplocked

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
)

// strangers returns two unrelated messages. The second one is committed and read before the first is
// committed.
func strangers() []exhibit.Event {
	return []exhibit.Event{{ID: "slow", Key: "order-1"}, {ID: "quick", Key: "order-2"}}
}

// straddle inserts the first message, commits the second one, reads, commits the
// first, and reads again.
func straddle(ctx context.Context, bed *testbed.Testbed, insert func(context.Context, pgx.Tx, exhibit.Event) error, read func() error) error {
	all := strangers()
	err := pgx.BeginFunc(ctx, bed.Pool, func(tx pgx.Tx) error {
		if err := insert(ctx, tx, all[0]); err != nil {
			return err
		}
		bed.Say("  %s is inserted", all[0].ID)
		err := pgx.BeginFunc(ctx, bed.Pool, func(tx pgx.Tx) error { return insert(ctx, tx, all[1]) })
		bed.Say("  %s is inserted and committed", all[1].ID)
		return errors.Join(err, read())
	})
	bed.Say("  %s is committed", all[0].ID)
	return errors.Join(err, read())
}

func lateAsWritten(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	o, err := newOutbox(ctx, bed, "late")
	fail.If(err)
	var topic testbed.Log
	var last int64
	err = straddle(ctx, bed, o.insert, func() (err error) {
		last, err = o.follow(ctx, last, func(event string) { topic.Add(event) })
		bed.Say("  the relay is at id %d, published so far: %v", last, topic.IDs())
		return err
	})
	return exhibit.Judge(strangers(), topic.IDs()), err
}

func lateOnLeat(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	ob, insert, err := leatOutbox(ctx, bed, "late")
	fail.If(err)
	var topic testbed.Log
	err = straddle(ctx, bed, insert, func() error {
		err := testbed.Drain(ctx, ob, topic.Sink())
		bed.Say("  the relay has published so far: %v", topic.IDs())
		return err
	})
	return exhibit.Judge(strangers(), topic.IDs()), err
}
