package inbox

import "errors"

// Permanent marks err as an error that no further attempt can repair, such as a payload
// that cannot be read. The message is given up at once, as Config.OnFailure's Action
// says. With Block, which gives nothing up, it changes nothing. The result wraps err; it
// is nil if err is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// IsPermanent reports whether err was marked by Permanent.
func IsPermanent(err error) bool {
	_, ok := errors.AsType[*permanentError](err)
	return ok
}

// Outage marks err as the failure of something that every message needs, such as a service
// that does not answer. It does not speak against the message: the attempt is taken back,
// so that the message is neither parked nor given up for it, and is delivered again after
// Policy.Delay. In a batch, all messages of the transaction are left for another delivery. Errors of
// the inbox's own database that mean the same, such as a full disk, are marked by the
// inbox. The result wraps err; it is nil if err is nil.
func Outage(err error) error {
	if err == nil {
		return nil
	}
	return &outageError{err}
}

func isOutage(err error) bool {
	_, ok := errors.AsType[*outageError](err)
	return ok
}

type outageError struct{ err error }

// Error returns the cause's text.
func (e *outageError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *outageError) Unwrap() error { return e.err }

type permanentError struct{ err error }

// Error returns the cause's text.
func (e *permanentError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *permanentError) Unwrap() error { return e.err }
