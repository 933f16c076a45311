package pgoutbox

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/driver"
)

// RebasePlan is what a Rebase would do, to the messages that are committed now. Sends,
// Repeats and LeavesOut are about the topics that the group reads.
//
// What is settled is told by the position as it is stored. After a dump was restored, or
// the log was truncated, it may misjudge the messages that were written since.
type RebasePlan struct {
	// Sends is the number of messages that the group would send from then on.
	Sends int64
	// Repeats is how many of those it has settled before.
	Repeats int64
	// LeavesOut is the number of messages that it has not settled and would never send.
	LeavesOut int64
	// Adopts is the number of messages of any topic whose transaction ids lie ahead of the
	// server's, as after a dump was restored. Rebase changes them, so that they are seen.
	Adopts int64
	// Holder is the relay that holds a lease of the group, "" for none. Rebase is refused
	// while one does.
	Holder string
}

// PlanRebase returns what Rebase would do with r, and changes nothing: it reads in a
// transaction that cannot write, also while relays of the group run. It needs SELECT on
// the tables of the outbox and on its sequence. It reads all of the log once, which takes
// minutes if that is very large. Errors are those of Rebase, but for driver.ErrLeaseHeld.
func (o *Outbox) PlanRebase(ctx context.Context, r RebaseRequest) (RebasePlan, error) {
	b, err := o.newRebase(ctx, r)
	if err != nil {
		return RebasePlan{}, err
	}
	var plan RebasePlan
	opts := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, o.pool, opts, func(tx pgx.Tx) error {
		plan, err = b.estimate(ctx, tx)
		return err
	})
	return plan, describe(err)
}

func (b *rebase) estimate(ctx context.Context, tx pgx.Tx) (plan RebasePlan, err error) {
	if _, err := tx.Exec(ctx, withoutJIT); err != nil {
		return plan, err
	}
	err = b.held(ctx, tx)
	if held, isHeld := errors.AsType[*driver.LeaseHeldError](err); isHeld {
		plan.Holder = held.Owner
	} else if err != nil {
		return plan, err
	}
	if _, err := b.check(ctx, tx); err != nil {
		return plan, err
	}
	var known bool
	err = tx.QueryRow(ctx, b.plan, b.Group, b.KeepPosition, beginOf(b.Start), b.Start.At).
		Scan(&known, &plan.Sends, &plan.Repeats, &plan.LeavesOut, &plan.Adopts)
	if err == nil && !known {
		err = b.noGroup()
	}
	return plan, err
}
