package dedupe

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNoID is returned for a message without an id.
	ErrNoID = errors.New("leat: message has no id")

	// ErrInvalidKey is returned by a Store for a claim that it cannot take: a token that
	// is empty or not printable, a lease below 1 ms.
	ErrInvalidKey = errors.New("leat: invalid dedupe key")

	// ErrBusy is returned while another run processes the message. Deliver it again
	// later; it is not a failure.
	ErrBusy = errors.New("leat: message is being processed elsewhere")

	// ErrMismatch is returned if the id was seen before with other content.
	ErrMismatch = errors.New("leat: the same message id came with another content")

	// ErrFenced is returned if another run now holds the lease. The message must not be
	// acknowledged: the other run may still fail.
	ErrFenced = errors.New("leat: fenced, another one has taken the message over")

	// ErrLeaseLost is the cause of a handler's context that ended because its lease could not be
	// extended in time.
	ErrLeaseLost = errors.New("leat: the lease on the message is about to end")

	// errNoStep is returned by Step outside of a run, and for a step without a
	// name.
	errNoStep = errors.New("leat: a step needs a name, and a message that is being processed")

	// ErrUnavailable wraps the errors of a store.
	ErrUnavailable = errors.New("leat: dedupe store is unavailable")
)

// BusyError is an ErrBusy with the remaining time of the other run's lease.
type BusyError struct {
	Key       Key
	Remaining time.Duration
}

// Error names the message and the remaining time.
func (e *BusyError) Error() string {
	return fmt.Sprintf("%v: consumer %s, message %.200q, for another %s at most", ErrBusy, e.Key.Consumer, e.Key.ID, e.Remaining)
}

// Unwrap returns ErrBusy.
func (e *BusyError) Unwrap() error {
	return ErrBusy
}
