package driver

import "errors"

// Permanent marks err as one that no further attempt will mend. A Store refuses a
// message with it. The result wraps err; it is nil if err is.
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

type permanentError struct{ err error }

// Error returns the cause's text.
func (e *permanentError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *permanentError) Unwrap() error { return e.err }
