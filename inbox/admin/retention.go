package admin

import (
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/clocks"
	common "github.com/leat-go/leat/outbox/admin"
)

// RetentionMode is how a store forgets.
type RetentionMode string

const (
	// RetainAll forgets nothing.
	RetainAll RetentionMode = "off"
	// RetainPending forgets nothing yet: the store is being prepared for it.
	RetainPending RetentionMode = "pending"
	// RetainRanges forgets ids by ranges of time, each as a whole.
	RetainRanges RetentionMode = "ranges"
	// RetainDelete deletes ids one by one.
	RetainDelete RetentionMode = "delete"
)

// Retention is what a store remembers, and what it forgets next.
type Retention struct {
	// Mode is how it forgets.
	Mode RetentionMode
	// At is the store's clock.
	At time.Time
	// Floor is the time from which ids of version 7 are remembered for certain, by the
	// time in them; zero if nothing was forgotten so far.
	Floor time.Time
	// Kept is how much is remembered now: At less Floor. It is 0 if nothing was
	// forgotten so far.
	Kept time.Duration
	// Cutover is the time from which ids are in ranges; zero if all are, or none.
	Cutover time.Time
	// Width is the time that a new range covers; 0 if there are none.
	Width time.Duration
	// Ranges are the parts that are forgotten as a whole, by their times.
	Ranges []RetentionRange
	// NextDrop is when the oldest of Ranges is dropped at the latest, if maintenance goes
	// on as it did; it may be one Width sooner. It is zero if nothing tells.
	NextDrop time.Time
}

// RetentionRange is a part of a store that is forgotten as a whole.
type RetentionRange struct {
	// Name is that of its table.
	Name string
	// From is the time of the first id in it, To that of the first one past it; zero if
	// it has no end.
	From, To time.Time
	// Bytes is what it takes, indexes included.
	Bytes int64
	// Estimate is about how many ids it has, those of all consumers; -1 if nobody knows.
	Estimate int64
}

// LowerFloorRequest asks to lower the time below which messages are too old.
type LowerFloorRequest struct {
	By

	// To is the new floor: messages that were made from it on are accepted again.
	// Defaults to the store's clock. What was made before that stays too old then, and nothing
	// that was forgotten runs again.
	To time.Time
	// MayRepeat lets To be before the store's clock. Messages that were made from To on, and took
	// effect before the floor is lowered, may have been forgotten: such a message runs again if it is
	// delivered again, and a parked one runs both when it is redriven and when it is delivered again.
	// Defaults to false.
	MayRepeat bool

	// DryRun makes the call return what it would change, and change nothing.
	// Defaults to false.
	DryRun bool
}

func (r *LowerFloorRequest) complete() error { return common.Complete(&r.By) }

// Check returns the floor that r asks for, given the store's clock and the floor that there is.
// Whoever implements LowerFloor calls it. It refuses while the clocks of the store and of
// this process differ by more than an hour. Other errors wrap ErrInvalidRequest: the new floor is
// not below the one that there is, or messages could run again and MayRepeat is not set.
func (r *LowerFloorRequest) Check(at, floor time.Time) (to time.Time, err error) {
	if err := clocks.Differ(at); err != nil {
		return to, fmt.Errorf("leat: the floor is not lowered: %w", err)
	}
	to = r.To
	if to.IsZero() {
		to = at
	}
	to = to.UTC().Truncate(time.Millisecond)
	switch {
	case !to.Before(floor):
		return to, fmt.Errorf("%w: To = %s: must be before the floor, which is %s", ErrInvalidRequest, floorName(to), floorName(floor))
	case !r.To.IsZero() && to.Before(at) && !r.MayRepeat:
		return to, fmt.Errorf("%w: To = %s: messages that were made between then and %s, and took effect, may have been forgotten, "+
			"and would run again if they are delivered again: allow that (may repeat), or name no time",
			ErrInvalidRequest, floorName(to), floorName(at))
	}
	return to, nil
}

// floorName names a time for operators.
func floorName(t time.Time) string {
	if t.IsZero() {
		return "not set"
	}
	return t.UTC().Format(time.RFC3339)
}
