package dedupe

import (
	"context"
	"fmt"
	"time"
)

// Outcome is how one delivery ended.
type Outcome int

const (
	// OutcomeRan means that the handler ran and the message is done.
	OutcomeRan Outcome = iota + 1
	// OutcomeDuplicate means that the message was done before.
	OutcomeDuplicate
	// OutcomeBusy means that another run is processing it.
	OutcomeBusy
	// OutcomeFailed means that the handler failed, or the message was refused.
	OutcomeFailed
	// OutcomeFenced means that the handler ran, and another run took over before it
	// ended.
	OutcomeFenced
	// OutcomeUnavailable means that the store could not be reached.
	OutcomeUnavailable
	// OutcomeOpen means that the handler ran without a claim (Config.FailOpen).
	OutcomeOpen
	// OutcomePanicked means that the handler panicked, or ended its goroutine.
	OutcomePanicked
)

// String returns the outcome's name.
func (o Outcome) String() string {
	names := [...]string{
		OutcomeRan: "ran", OutcomeDuplicate: "duplicate", OutcomeBusy: "busy", OutcomeFailed: "failed",
		OutcomeFenced: "fenced", OutcomeUnavailable: "unavailable", OutcomeOpen: "open", OutcomePanicked: "panicked",
	}
	if o < OutcomeRan || int(o) >= len(names) {
		return fmt.Sprintf("Outcome(%d)", int(o))
	}
	return names[o]
}

// DeliveryHook is called with the outcome of every delivery. Steps are part of their message's
// delivery.
type DeliveryHook interface {
	// OnDedupeDelivery is called once for each delivery, after its end.
	OnDedupeDelivery(ctx context.Context, e DeliveryEvent)
}

// DeliveryEvent is a delivery that has ended.
type DeliveryEvent struct {
	// Key is the consumer and the message.
	Key Key
	// Outcome is how it ended.
	Outcome Outcome
	// Attempt is the number of the claim, from 1; 0 if there was no claim.
	Attempt int
	// Takeover is set if the lease of an earlier run had run out.
	Takeover bool
	// Completion is the store's answer to Complete, 0 if it was not called.
	Completion Completion
	// Took is the duration of the delivery.
	Took time.Duration
	// Err is the error that Do returned.
	Err error
}
