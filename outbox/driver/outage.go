package driver

import (
	"context"
	"regexp"
	"time"
)

// Outage is a destination that is out, as the leader of a slot sees it.
type Outage struct {
	// Topic is what is out, at most 255 bytes of it. It is "" for the topics beyond those that
	// are listed; Error is their number then.
	Topic string
	// Since is when the leader found out, by its own clock.
	Since time.Time
	// Cause is "unavailable" if the destination answers and does not take the topic, "outage" if
	// it does not answer, and "suspect" if its records fail for reasons that nobody knows.
	Cause string
	// Error is the text of the error, at most 500 bytes.
	Error string
	// Waiting is the number of records of the topic that are tried again, counted up to 1,000 as
	// operators look. It is not stored.
	Waiting int
}

// whole is in errors of a destination as a whole: the addresses that it was asked at.
var whole = regexp.MustCompile(` at \[.+?\] `)

// Whole reports whether the destination as a whole is out, by what Sink says of its errors. Then
// the topics are those whose records have met that, and not what is to be repaired.
func (o Outage) Whole() bool { return whole.MatchString(o.Error) }

// OutageKeeper is a Session that stores which destinations are out, for operators.
type OutageKeeper interface {
	Session

	// KeepOutages stores all that are out in place of those that this session has stored before.
	// They count for as long as nobody else has had the lease. Relay calls it from the
	// goroutine that calls Advance, and only if something has changed. A session whose lease is lost changes nothing,
	// and need not return an error.
	KeepOutages(ctx context.Context, all []Outage) error
}
