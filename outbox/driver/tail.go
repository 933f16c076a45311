package driver

import "context"

// TailHook sees when a tail begins and ends. A tail follows the log of a source without polling
// it.
type TailHook interface {
	// OnDriverTail is called when a tail begins to follow, and when it has ended or could not
	// begin. A relay carries on without it.
	OnDriverTail(ctx context.Context, e TailEvent)
}

// TailEvent is a change of a tail.
type TailEvent struct {
	// Group is the relay group.
	Group string
	// Follows is set if the tail follows from now on.
	Follows bool
	// Err is the reason if Follows is not set.
	Err error
}
