package pgwindow

import (
	"context"
	"time"
)

// Begin is where a new group begins to read.
type Begin int

const (
	// BeginOldest begins at the oldest retained row.
	BeginOldest Begin = iota
	// BeginNow begins with what is committed from now on.
	BeginNow
	// BeginAt begins at the first row that was written at a time or later.
	BeginAt
)

// Outset is the place where a group begins, with everything that had to be read beforehand.
type Outset struct {
	at     Begin
	time   time.Time
	facts  Facts
	f0, f1 int64
	older  int64 // BeginAt: up to this number all rows are older
}

// Unused reports whether the log has never assigned a number.
func (o Outset) Unused() bool { return o.f0 == 0 }

// clockSlack is by how much the times of rows may differ from the order of their numbers: a row
// draws both together, but there may be a pause in between. BeginAt reads all rows from this long
// before its time on.
const clockSlack = time.Minute

// Outset reads what Begin needs to know beforehand. It must not run in a transaction.
func (c *Chain) Outset(ctx context.Context, db Querier, st *Statements, at Begin, t time.Time) (Outset, error) {
	o := Outset{at: at, time: t}
	var err error
	if o.facts, err = st.Facts(ctx, db); err != nil {
		return o, err
	}
	f, err := st.Probe(ctx, db, o.facts.Sequence, NoWindow())
	if err != nil || at == BeginOldest {
		o.f0 = f.Sequence
		return o, err
	}
	o.f0 = f.Sequence
	if at == BeginAt {
		if o.older, err = c.olderThan(ctx, db, t.Add(-clockSlack), o.f0); err != nil {
			return o, err
		}
	}
	if _, err := db.Exec(ctx, c.mark); err != nil {
		return o, err
	}
	f, err = st.Probe(ctx, db, o.facts.Sequence, NoWindow())
	o.f1 = f.Sequence
	return o, err
}

// olderThan returns a number, at most highest, up to which rows were written before t, by
// bisection. It is a lower bound: later rows may be older than t as well.
func (c *Chain) olderThan(ctx context.Context, db Querier, t time.Time, highest int64) (int64, error) {
	low, high := int64(0), highest // all up to low are older, the first from high on may not be
	for high-low > 1 {
		middle := low + (high-low)/2
		var older *bool
		if err := db.QueryRow(ctx, c.before, middle, t).Scan(&older); err != nil {
			return 0, err
		}
		if older != nil && *older {
			low = middle
		} else {
			high = middle
		}
	}
	return low, nil
}

// Begin stores window 0 of every slot of a listed group that has no position yet, and does
// nothing to one that has. owner is recorded in it. If it runs in a transaction, that must have
// begun after Outset returned.
//
// # Why a row that commits after the call of Outset is not lost
//
// At BeginNow, window 0 is empty and its target is a snapshot B. A row of window 1 is not visible
// in B: its transaction was in progress in B, and then it is looked up by its xid, or its xid is
// at or above the xmax of B. Before B was taken, the transaction of mark had an xid X and
// committed, so X is below that xmax; F0, the floor of window 1, was read before X was drawn; and
// the row drew its number after its xid. Hence the number is above F0. For window 2, the argument
// is that of the package comment: its floor is F1, read before window 0's transaction began.
// Without X, xmax may be below the xid of a transaction that has drawn a number before F0.
//
// At BeginAt, window 0 ends at B likewise. It begins before the first row that B sees and that
// was written at the time or later: both are found by one statement, with one snapshot, so that
// no row can become visible in between. A row that B does not see is ahead whatever its time.
// That the rows up to Outset.older can be skipped relies on the clock: if it was set back by more
// than clockSlack between them and the others, rows would be left out.
func (c *Chain) Begin(ctx context.Context, db Querier, group, owner string, o Outset) error {
	args := []any{group, owner, o.facts.SystemIdentifier, o.f0}
	if err := c.Adopt(ctx, db, group, o.facts); err != nil {
		return err
	}
	var err error
	switch o.at {
	case BeginNow:
		_, err = db.Exec(ctx, c.beginNow, append(args, o.f1)...)
	case BeginAt:
		_, err = db.Exec(ctx, c.beginAt, append(args, o.f1, o.time, o.older)...)
	case BeginOldest:
		_, err = db.Exec(ctx, c.beginOldest, args...)
	}
	return err
}
