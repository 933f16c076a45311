package inbox

import (
	"errors"
	"fmt"
	"runtime/debug"
)

var errWrongAnswer = errors.New("leat: the store answered for another number of messages")

// ErrHeldBack is returned for a message of a batch that was not run because an earlier message
// of its key is not done: that one is Busy, has failed, or its commit has no answer.
// ErrHeldBack wraps ErrBusy: it is not a failure, and the message must be delivered again after
// the earlier one.
var ErrHeldBack = fmt.Errorf("leat: an earlier message of the same key is not done: %w", ErrBusy)

// MessageError is what a handler of a batch returns if it knows which of its messages it failed
// for. The others are then run without it at once, instead of after a search by halves.
type MessageError struct {
	// Index is the index of the message in the handler's slice.
	Index int
	// Err is the cause.
	Err error
}

// Error returns the text of Err, with the index.
func (e *MessageError) Error() string {
	return fmt.Sprintf("message %d of the batch: %v", e.Index, e.Err)
}

// Unwrap returns Err.
func (e *MessageError) Unwrap() error { return e.Err }

// panicked returns the error of a message whose handler panicked in a batch, with the stack.
// It wraps v if that is an error.
func panicked(v any) error {
	err, ok := v.(error)
	if !ok {
		err = fmt.Errorf("%v", v)
	}
	return fmt.Errorf("leat: batch handler panicked: %w\n%s", err, debug.Stack())
}
