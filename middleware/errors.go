package middleware

import (
	"errors"
	"fmt"
)

// A configuration that cannot work is refused by its constructor, with an error that wraps
// outbox.ErrInvalidConfig and names the field and its value. The errors here depend on what a
// handler returns, so they only occur with a message. The text says what to set.
var (
	// ErrNoDestination is returned if a handler returns messages that have no destination: no
	// Outbox, no Publisher, or no topic that the handler was registered with. The handler's
	// writes are rolled back, or its message counts as not done. The router would publish them
	// after the commit, where a crash loses them.
	ErrNoDestination = errors.New("leat: handler returned messages that have no destination")

	errNoTopic = fmt.Errorf("%w: the handler has no topic to publish to", ErrNoDestination)
)
