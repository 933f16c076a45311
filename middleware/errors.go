package middleware

import (
	"errors"
	"fmt"
)

// A configuration that cannot work is refused by its constructor, with an error that
// wraps outbox.ErrInvalidConfig and names the field and its value. The errors here
// depend on what a handler returns, so that only a message shows them. The text says
// what to set.
var (
	// ErrNoDestination is returned if a handler returns messages and there is nowhere
	// to put them: no Outbox, no Publisher, or no topic that the handler was registered
	// with. What the handler wrote is rolled back, or its message counts as not done.
	// Left to the router they would be published after the commit, where a crash loses
	// them.
	ErrNoDestination = errors.New("leat: handler returned messages that have no destination")

	errNoTopic = fmt.Errorf("%w: the handler has no topic to publish to", ErrNoDestination)
)
