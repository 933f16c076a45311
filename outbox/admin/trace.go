package admin

import (
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
)

// TraceQuery asks what happened to a message.
type TraceQuery struct {
	// ID is the id of the message. Required.
	ID string
	// Since is the earliest time at which it may have been enqueued, by the database's clock. The
	// log is read from there on: the longer ago, the longer it takes. Defaults to an hour before
	// the time in ID, if that is a UUID of version 7, as leat's own are; required otherwise. By
	// default the two hours from there on are read first, and the rest only if they contain
	// nothing. Set Since to also find a message that was enqueued again later.
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

// Trace is everything that is known of the messages with one id.
type Trace struct {
	// Messages are those that the log retains, ascending in Seq, the first hundred at most.
	// Usually there is one; several if it was enqueued again.
	Messages []TracedMessage
	// Delayed are those that are not due yet, the first hundred at most.
	Delayed []DelayedMessage
	// Held and Dead are the records that relays of any group have set aside: at most the first
	// hundred of each group, and those that are in Messages. Group is set.
	Held, Dead []HeldRecord
	// Audit are the newest hundred entries about the id, the oldest first.
	Audit []AuditEntry
}

// TracedMessage is a message of the log, with its state in each relay group.
type TracedMessage struct {
	outbox.Record

	Groups []GroupTrace
}

// TraceState is the state of a message in a relay group.
type TraceState string

const (
	// TracePending means that the group has not settled the message yet.
	TracePending TraceState = "pending"
	// TraceSent means that the destination has acknowledged the message, as far as the tables
	// show: the position is past it, and there is no other trace of it, including in Trace.Audit.
	TraceSent TraceState = "sent"
	// TraceUnknown means that the position is past the message, but the group may have begun
	// after it, so it is unknown whether the message was sent.
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

// GroupTrace is the state of a message in one relay group.
type GroupTrace struct {
	Group string
	State TraceState
}
