package pgwindow

import (
	"context"
	"time"
)

// Begin is where a new group begins to read.
type Begin int

const (
	// BeginOldest is at the oldest row that is retained.
	BeginOldest Begin = iota
	// BeginNow is at what is committed from now on.
	BeginNow
	// BeginAt is at the first row that was written at a time or later.
	BeginAt
)

// Begin stores window 0 of every slot of a listed group that has no position yet,
// and does nothing to one that has. owner is noted in it. It must not run in a
// transaction.
//
// # Why no row is lost that commits after the call has begun to
//
// At BeginNow, window 0 is empty and its target is a snapshot B. A row of window 1 is
// not visible in B: its transaction was under way in B, and then it is looked up by
// its xid, or its xid is at or above the xmax of B. Before B was taken, the
// transaction of mark had an xid X and committed, so X is below that xmax; F0, the floor of
// window 1, was read before X was drawn; and the row drew its number after its xid.
// Hence the number is above F0. For window 2, the argument is that of the package
// comment: its floor is F1, read before window 0's transaction began. Without X, xmax may
// be below the xid of a transaction that has drawn a number before F0.
//
// At BeginAt, window 0 ends at B likewise, and begins before the first row that B
// sees and that was written then: both are found by one statement, with one
// snapshot, so that no row can become visible between the two looks. A row that B does
// not see lies ahead whatever its time.
func (c *Chain) Begin(ctx context.Context, db Querier, st *Statements, group, owner string, at Begin, t time.Time) error {
	facts, err := st.Facts(ctx, db)
	if err != nil {
		return err
	}
	f0, err := st.Probe(ctx, db, facts.Sequence, NoWindow())
	if err != nil {
		return err
	}
	if at == BeginOldest {
		_, err = db.Exec(ctx, c.beginOldest, group, owner, facts.SystemIdentifier, f0.Sequence)
		return err
	}
	if _, err = db.Exec(ctx, c.mark); err != nil {
		return err
	}
	f1, err := st.Probe(ctx, db, facts.Sequence, NoWindow())
	if err != nil {
		return err
	}
	args := []any{group, owner, facts.SystemIdentifier, f0.Sequence, f1.Sequence}
	if at == BeginNow {
		_, err = db.Exec(ctx, c.beginNow, args...)
		return err
	}
	_, err = db.Exec(ctx, c.beginAt, append(args, t)...)
	return err
}
