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

type permanentError struct{ err error }

// Error returns the cause's text.
func (e *permanentError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *permanentError) Unwrap() error { return e.err }
