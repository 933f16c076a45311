package inbox

import "strconv"

// Outcome is how a delivery ended.
type Outcome int

const (
	// OutcomeFailed means that this delivery left nothing behind. The message must be delivered
	// again.
	OutcomeFailed Outcome = iota
	// OutcomeCommitted means that the handler's effects were committed together
	// with the message's id. The message can be acknowledged.
	OutcomeCommitted
	// OutcomeDuplicate means that the message had been committed before, or given
	// up, so that the handler was not run. The message can be acknowledged.
	OutcomeDuplicate
	// OutcomeBusy means that another delivery of the message was in progress, so that the handler
	// was not run. The message must be delivered again.
	OutcomeBusy
	// OutcomeUnknown means that the commit was sent and no answer came back. The message must be
	// delivered again; it then is a duplicate, or runs again.
	OutcomeUnknown
	// OutcomePanicked is OutcomeFailed by a handler that panicked or ended its
	// goroutine.
	OutcomePanicked
	// OutcomeParked means that the message was stored for an operator: it was given up, or
	// follows a parked message of its key. The message can be acknowledged.
	OutcomeParked
	// OutcomeDeadLettered means that the message was given up and enqueued for the
	// topic of dead letters. The message can be acknowledged.
	OutcomeDeadLettered
	// OutcomeGivenUp means that Policy.Handle has accepted the message. It can be acknowledged.
	OutcomeGivenUp
)

// String returns the outcome's name as metrics use it.
func (o Outcome) String() string {
	switch o {
	case OutcomeFailed:
		return "failed"
	case OutcomeCommitted:
		return "committed"
	case OutcomeDuplicate:
		return "duplicate"
	case OutcomeBusy:
		return "busy"
	case OutcomeUnknown:
		return "unknown"
	case OutcomePanicked:
		return "panicked"
	case OutcomeParked:
		return "parked"
	case OutcomeDeadLettered:
		return "dead_lettered"
	case OutcomeGivenUp:
		return "given_up"
	default:
		return "Outcome(" + strconv.Itoa(int(o)) + ")"
	}
}
