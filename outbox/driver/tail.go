package driver

import "context"

// TailHook sees when a tail begins and ends: what lets a source follow its log without asking for it.
type TailHook interface {
	// OnDriverTail is called when a tail begins to follow, and when it has ended or could not
	// begin. A relay goes on without.
	OnDriverTail(ctx context.Context, e TailEvent)
}

// TailEvent is a change of a tail.
type TailEvent struct {
	// Group is the relay group.
	Group string
	// Follows is set if the tail follows from now on.
	Follows bool
	// Err is why it does not, if Follows is not set.
	Err error
}
