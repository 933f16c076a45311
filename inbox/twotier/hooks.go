package twotier

import (
	"context"
	"fmt"
)

// LookHook sees each look into the caches.
type LookHook interface {
	// OnTwotierLook is called before the inbox is asked, or instead.
	OnTwotierLook(ctx context.Context, e LookEvent)
}

// LookEvent is a look into the caches.
type LookEvent struct {
	// Consumer is the name of the inbox's consumer, and ID the message's id.
	Consumer, ID string
	// Outcome is what came of it.
	Outcome Outcome
}

// Outcome is what came of a look into the caches.
type Outcome int

const (
	// Missed means that no cache knew the message; the inbox was asked.
	Missed Outcome = iota + 1
	// Skipped means that the message was committed in the current scope, and was
	// not handed to the inbox.
	Skipped
	// Outlived means that the message was remembered in a scope that is over, or
	// the scope could not be read; the inbox was asked.
	Outlived
)

// String returns the outcome's name.
func (o Outcome) String() string {
	switch o {
	case Missed:
		return "missed"
	case Skipped:
		return "skipped"
	case Outlived:
		return "outlived"
	default:
		return fmt.Sprintf("Outcome(%d)", int(o))
	}
}
