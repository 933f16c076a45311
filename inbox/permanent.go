package inbox

import "errors"

// Permanent marks err as one that no further attempt will mend, such as a payload
// that cannot be read. The message is given up at once: what becomes of it is
// Config.OnFailure's Action. With Block, which gives nothing up, it changes
// nothing. The result wraps err; it is nil where err is.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// IsPermanent says whether err was marked by Permanent.
func IsPermanent(err error) bool {
	_, ok := errors.AsType[*permanentError](err)
	return ok
}

type permanentError struct{ err error }

// Error returns the cause's text.
func (e *permanentError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *permanentError) Unwrap() error { return e.err }
