package admin

import "time"

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
