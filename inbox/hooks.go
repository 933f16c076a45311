package inbox

import (
	"context"
	"time"
)

// Hook observes a Processor. A hook implements any of the On… interfaces of
// this package; New refuses one that implements none. Hooks are called on the
// goroutine of the delivery, so many at a time, and should return quickly.
type Hook any

// OutcomeHook sees how every delivery ended.
type OutcomeHook interface {
	// OnOutcome is called once a delivery, after its transaction has ended and
	// before the message is acknowledged.
	OnOutcome(ctx context.Context, d Delivery)
}

// Delivery describes a delivery that has ended.
type Delivery struct {
	// Consumer is the name of the consumer.
	Consumer string
	// ID is the message's id, empty if it has none.
	ID string
	// Outcome is how it ended.
	Outcome Outcome
	// Took is the time from the claim to the end of the transaction, the wait of a
	// delivery that failed or was Busy included.
	Took time.Duration
	// Err is the error that Process returned; it is also nil for OutcomePanicked.
	Err error
	// Redriven is set if the message came from RunRedrive and not from a broker.
	Redriven bool
}
