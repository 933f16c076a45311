package driver

import (
	"context"
	"regexp"
	"time"
)

// Outage is a destination that is out, as the leader of a slot sees it.
type Outage struct {
	// Topic is the topic that is out, at most 255 bytes of it. It is "" in the entry that stands for all
	// topics that are not listed; Error is then their number.
	Topic string
	// Since is when the leader found out, by its own clock.
	Since time.Time
	// Cause is "unavailable" if the destination answers and does not take the topic, "outage" if
	// it does not answer, and "suspect" if its records fail for unknown reasons.
	Cause string
	// Error is the text of the error, at most 500 bytes.
	Error string
	// Waiting is the number of records of the topic that are tried again, counted up to 1,000 as
	// operators look. It is not stored.
	Waiting int
}

// whole marks errors of the destination as a whole: the addresses that were tried.
var whole = regexp.MustCompile(` at \[.+?\] `)

// Whole reports whether the destination as a whole is out, by the form of its errors (see Sink).
// Then the topics are those whose records happened to fail, and not what needs repair.
func (o Outage) Whole() bool { return whole.MatchString(o.Error) }

// OutageKeeper is a Session that stores which destinations are out, for operators.
type OutageKeeper interface {
	Session

	// KeepOutages stores all current outages, replacing those that this session has stored before.
	// They are valid until another relay has held the lease. Relay calls it from the goroutine
	// that calls Advance, and only if something has changed. A session whose lease is lost changes
	// nothing, and need not return an error.
	KeepOutages(ctx context.Context, all []Outage) error
}
