package inbox

import "errors"

// Permanent marks err as an error that another attempt cannot fix, such as an unreadable payload.
// The message is given up at once, by the Action of Config.OnFailure. With Block, which never
// gives up, Permanent has no effect. The result wraps err; it is nil if err is nil.
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

// Outage marks err as the failure of something that every message needs, such as a service that
// does not answer. The message is not to blame: the attempt does not count, so that the message
// is neither parked nor given up because of it, and it is delivered again after Policy.Delay. In
// a batch, all messages of the transaction are left for another delivery. The inbox itself marks
// errors of its database that mean the same, such as a full disk. The result wraps err; it is nil
// if err is nil.
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
