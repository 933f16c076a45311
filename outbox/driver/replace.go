package driver

import "context"

// ReplaceHook sees a sink replace its client. A sink that does so often has a destination that
// fails often, and each time it loses what the client knew of it.
type ReplaceHook interface {
	// OnDriverReplace is called when a delivery has failed and its client was closed, or will be in
	// this call. The next delivery makes another one.
	OnDriverReplace(ctx context.Context, e ReplaceEvent)
}

// ReplaceEvent is a client that is replaced.
type ReplaceEvent struct {
	// Slot is the slot of a sink that delivers exactly once, and empty for others.
	Slot string
	// Records is the number of records that were not acknowledged.
	Records int
	// Err is the first error of the delivery.
	Err error
}
