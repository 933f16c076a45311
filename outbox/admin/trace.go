package admin

import (
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
)

// TraceQuery asks what happened to a message.
type TraceQuery struct {
	// ID is the message's. Required.
	ID string
	// Since is the earliest time at which it may have been enqueued, by the database's
	// clock. The log is looked at from there on: the longer ago, the longer it takes.
	// Defaults to an hour before the time in ID, if that is a UUID of version 7, as
	// leat's own are; required otherwise. By default the two hours from there on are looked
	// at first, and what follows only if nothing is in them: set Since to find a message
	// that was enqueued again later, too.
	Since time.Time
}

// traceSlack is how far the clock of the producer that made an id may be off.
const traceSlack = time.Hour

func (q *TraceQuery) complete() error {
	if q.ID == "" {
		return fmt.Errorf("%w: ID is empty", ErrInvalidRequest)
	}
	id, _ := ids.Map(q.ID)
	if made, ok := ids.Time(id); ok && q.Since.IsZero() {
		q.Since = made.Add(-traceSlack)
	}
	if q.Since.IsZero() {
		return fmt.Errorf("%w: ID = %.200q tells no time: Since is required", ErrInvalidRequest, q.ID)
	}
	return checkTexts(map[string]string{"ID": q.ID})
}

// Trace is what is known of the messages with one id.
type Trace struct {
	// Messages are those that the log retains, ascending in Seq, the first hundred at most. As
	// a rule there is one; several if it was enqueued again.
	Messages []TracedMessage
	// Delayed are those that are not due yet, the first hundred at most.
	Delayed []DelayedMessage
	// Held and Dead are those that relays of any group have set aside: of each group the first
	// hundred at most, and those of Messages. Group is set.
	Held, Dead []HeldRecord
	// Audit are the newest hundred entries about the id, the oldest first.
	Audit []AuditEntry
}

// TracedMessage is a message of the log, and what each relay group has done with it.
type TracedMessage struct {
	outbox.Record

	Groups []GroupTrace
}

// TraceState is how far a relay group has come with a message.
type TraceState string

const (
	// TracePending means that the group has not settled the message yet.
	TracePending TraceState = "pending"
	// TraceSent means that the destination has acknowledged the message, as far as the
	// tables tell: the position is past it, and nothing else is known of it, also not from
	// Trace.Audit.
	TraceSent TraceState = "sent"
	// TraceUnknown means that the position is past the message, and that the group may have begun
	// behind it: nobody knows whether it has sent it.
	TraceUnknown TraceState = "unknown"
	// TraceHeld means that the message is held, see Trace.Held.
	TraceHeld TraceState = "held"
	// TraceDead means that the message was given up, see Trace.Dead.
	TraceDead TraceState = "dead"
	// TraceDropped means that the message is not sent: it was skipped or dropped, see
	// Trace.Audit.
	TraceDropped TraceState = "dropped"
	// TraceFiltered means that the group does not read the message's topic.
	TraceFiltered TraceState = "filtered"
)

// GroupTrace is how far one relay group has come with a message.
type GroupTrace struct {
	Group string
	State TraceState
}
