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
	// RetainRanges forgets ids by time ranges, each range as a whole.
	RetainRanges RetentionMode = "ranges"
	// RetainDelete deletes ids one by one.
	RetainDelete RetentionMode = "delete"
)

// Retention describes what a store remembers, and what it forgets next.
type Retention struct {
	// Mode is how it forgets.
	Mode RetentionMode
	// At is the store's clock.
	At time.Time
	// Floor is the time from which ids of version 7, by the time in them, are remembered for
	// certain; zero if nothing has been forgotten yet.
	Floor time.Time
	// Kept is how much is remembered now: At less Floor. It is 0 if nothing has been forgotten
	// yet.
	Kept time.Duration
	// Cutover is the time from which ids are in ranges; zero if all are, or none.
	Cutover time.Time
	// Width is the time that a new range covers; 0 if there are none.
	Width time.Duration
	// Ranges are the parts that are forgotten as a whole, by their times.
	Ranges []RetentionRange
	// NextDrop is when the oldest of Ranges is dropped at the latest, if maintenance continues as
	// before; it may be one Width sooner. It is zero if unknown.
	NextDrop time.Time
}

// RetentionRange is a part of a store that is forgotten as a whole.
type RetentionRange struct {
	// Name is the name of its table.
	Name string
	// From is the time of the first id in it. To is the time of the first id after it, zero if
	// the range has no end.
	From, To time.Time
	// Bytes is its size, including indexes.
	Bytes int64
	// Estimate is the approximate number of ids in it, of all consumers; -1 if unknown.
	Estimate int64
}

// LowerFloorRequest asks to lower the time below which messages are too old.
type LowerFloorRequest struct {
	By

	// To is the new floor: messages that were made from it on are accepted again. Defaults to the
	// store's clock. With the default, messages made before that stay too old, and no forgotten
	// message runs again.
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

// Check returns the floor that r asks for, given the store's clock and the present floor. An
// implementation of LowerFloor must call it. It returns an error while the clocks of the store
// and of this process differ by more than an hour. Other errors wrap ErrInvalidRequest: the new
// floor is not below the present one, or messages could run again and MayRepeat is not set.
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

// floorName formats a time for operators.
func floorName(t time.Time) string {
	if t.IsZero() {
		return "not set"
	}
	return t.UTC().Format(time.RFC3339)
}
