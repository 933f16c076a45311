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
	// OutcomeBusy means that another one is processing it.
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

// Delivery is one delivery, for hooks.
type Delivery struct {
	Key        Key
	Outcome    Outcome
	Attempt    int
	Takeover   bool
	Completion Completion // 0 if none was tried
	Took       time.Duration
	Err        error
}

// Hook sees every delivery. It is called from many goroutines and should return
// quickly.
type Hook interface {
	OnDelivery(ctx context.Context, d Delivery)
}
