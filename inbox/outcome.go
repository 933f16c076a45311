package inbox

import "strconv"

// Outcome is how a delivery ended.
type Outcome int

const (
	// OutcomeFailed means that nothing of this delivery was kept. The message is
	// to be delivered again.
	OutcomeFailed Outcome = iota
	// OutcomeCommitted means that the handler's effects were committed together
	// with the message's id. The message can be acknowledged.
	OutcomeCommitted
	// OutcomeDuplicate means that the message had been committed before, so that
	// the handler was not run. The message can be acknowledged.
	OutcomeDuplicate
	// OutcomeBusy means that another delivery of the message was in progress, so
	// that the handler was not run. The message is to be delivered again.
	OutcomeBusy
	// OutcomeUnknown means that the commit was sent and no answer came back. The
	// message is to be delivered again; it is a duplicate then, or runs again.
	OutcomeUnknown
	// OutcomePanicked is OutcomeFailed by a handler that panicked or ended its
	// goroutine.
	OutcomePanicked
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
	default:
		return "Outcome(" + strconv.Itoa(int(o)) + ")"
	}
}
