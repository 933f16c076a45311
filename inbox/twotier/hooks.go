package twotier

import "context"

// LookHook is called for each look into the caches.
type LookHook interface {
	// OnTwotierLook is called before the inbox is asked, or instead of asking it.
	OnTwotierLook(ctx context.Context, e LookEvent)
}

// LookEvent is a look into the caches.
type LookEvent struct {
	// Consumer is the name of the inbox's consumer, and ID the message's id.
	Consumer, ID string
	// Skipped is set if the message was committed in the current scope, and was not passed to the
	// inbox. Outlived is set if it was remembered in an earlier scope, or the scope could not be
	// read; the inbox was asked. If neither is set no cache knew the message, and the inbox was
	// asked.
	Skipped, Outlived bool
}
