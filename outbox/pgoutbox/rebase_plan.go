package pgoutbox

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// RebasePlan is the effect that a Rebase would have on the messages that are committed now.
// Sends, Repeats, LeavesOut, Guesses and Later are about the topics that the group reads.
//
// A message is settled if the stored position says so, and if it is not newer than the position
// by its number or its time.
type RebasePlan struct {
	// Sends is the number of messages that the group would send from then on.
	Sends int64
	// Repeats is how many of those it has settled before.
	Repeats int64
	// LeavesOut is the number of messages that it has not settled and would never send.
	LeavesOut int64
	// Guesses is the number of messages that the position would have settled and that are newer
	// than it by only one of number and time. They count as not settled. There are some if numbers
	// began anew, or a clock moved back.
	Guesses int64
	// Adopts is the number of messages of any topic whose transaction ids belong to transactions
	// that have not ended on this server, as after a dump was restored. Rebase changes the ids, so
	// that the messages become visible.
	Adopts int64
	// Later is the number of messages that are delayed, and that the group has set aside. Whatever
	// Start is, they stay: they are sent when they are due, are tried again, or are redriven.
	Later int64
	// Holder is the relay that holds a lease of the group, "" for none. Rebase is refused
	// while one does.
	Holder string
}

// PlanRebase returns what Rebase would do with r, and changes nothing: it uses a read-only
// transaction, and may run while relays of the group run. It needs SELECT on the tables of the
// outbox and on its sequence. It reads the whole log once, which takes minutes if that is very
// large. Errors are those of Rebase, except driver.ErrLeaseHeld.
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
	gone, err := b.ob.leases.Gone(ctx, tx, b.Group)
	if err != nil {
		return plan, err
	}
	err = b.held(ctx, tx, gone)
	if held, isHeld := errors.AsType[*driver.LeaseHeldError](err); isHeld {
		plan.Holder = held.Owner
	} else if err != nil {
		return plan, err
	}
	if _, err := b.check(ctx, tx); err != nil {
		return plan, err
	}
	stood, err := b.stand(ctx, tx)
	if err != nil {
		return plan, err
	}
	counted, _, err := b.count(ctx, tx, stood)
	counted.Holder = plan.Holder
	return counted, err
}

// standing are the positions of a group's slots.
type standing struct {
	slots        []int16
	prev, target []string
	last, upto   []int64
	openedAt     []time.Time
}

// stand reads the positions of a group.
func (b *rebase) stand(ctx context.Context, tx pgx.Tx) (s standing, err error) {
	err = tx.QueryRow(ctx, b.standing, b.Group).Scan(&s.slots, &s.prev, &s.target, &s.last, &s.upto, &s.openedAt)
	return s, err
}

// count judges the messages of the group, whose positions were s: what is sent, and what is left
// out. first is the number of the first message that is not settled, nil if all are.
func (b *rebase) count(ctx context.Context, tx pgx.Tx, s standing) (plan RebasePlan, first *int64, err error) {
	begin := beginOf(b.Start)
	if b.Unsettled {
		begin = beginUnsettled
	}
	var known bool
	err = tx.QueryRow(ctx, b.judge, b.Group, b.KeepPosition, begin, b.Start.At, s.slots, s.prev, s.target, s.last, s.upto, s.openedAt).
		Scan(&known, &plan.Sends, &plan.Repeats, &plan.LeavesOut, &plan.Guesses, &plan.Adopts, &first, &plan.Later)
	if err == nil && !known {
		err = b.noGroup()
	}
	return plan, first, err
}

// beginUnsettled is a start that only rebase_judge.sql knows.
const beginUnsettled = pgwindow.Begin(3)
