package content

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

var (
	// ErrFutureVersion is returned for a message of a version that is newer than the
	// Marshaler's. It is not permanent: during a deployment another process may know the
	// version. Policy.Attempts should outlast the deployment.
	ErrFutureVersion = errors.New("leat: the version is newer than this process knows")

	// ErrForgotten is returned by Keys for a key that was deleted or never existed. Messages that
	// it sealed cannot be read any more. For a message the error is permanent.
	ErrForgotten = errors.New("leat: the key is deleted")

	// ErrGone is returned by Blobs for a payload that does not exist. For a message the error is
	// permanent.
	ErrGone = errors.New("leat: the payload is deleted")
)

// fault is an error whose own text does not quote the payload, so that it may be stored.
type fault struct {
	what string
	err  error
}

func faultf(err error, format string, args ...any) error {
	return &fault{what: fmt.Sprintf("leat: "+format, args...), err: err}
}

// Error returns the text, with that of the cause.
func (f *fault) Error() string {
	if f.err == nil {
		return f.what
	}
	return f.what + ": " + f.err.Error()
}

// Unwrap returns the cause.
func (f *fault) Unwrap() error { return f.err }

// withheld replaces the text of an error that may quote sealed data. errors.Is and errors.As
// still find its causes.
type withheld struct {
	text string
	err  error
}

// Error returns the types of the errors.
func (w *withheld) Error() string { return w.text }

// Unwrap returns the cause.
func (w *withheld) Unwrap() error { return w.err }

// call runs a handler of opened messages. The texts of its errors are replaced by types, see
// Seal.ShowErrors.
func (c *Content) call(handle func() error) error {
	if c.cfg.Seal == nil || c.cfg.Seal.ShowErrors {
		return handle()
	}
	err, panicked := recovered(handle)
	if panicked {
		panic(err) // panic again here, so that the first panic is not printed
	}
	if err == nil {
		return nil
	}
	return &withheld{text: "leat: the handler of a sealed message failed: " + types(err), err: err}
}

func recovered(handle func() error) (err error, panicked bool) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		cause, _ := v.(error)
		text := fmt.Sprintf("leat: the handler of a sealed message panicked: %T\n%s", v, debug.Stack())
		err, panicked = &withheld{text: text, err: cause}, true
	}()
	return handle(), false
}

// types returns the types of err and its causes, and the texts of leat's own errors.
func types(err error) string {
	text := fmt.Sprintf("%T", err)
	if f, ok := err.(*fault); ok { //nolint:errorlint // this one, not its causes
		text = f.what
	}
	var causes []error
	switch e := err.(type) { //nolint:errorlint // the same
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			causes = []error{cause}
		}
	case interface{ Unwrap() []error }:
		causes = e.Unwrap()
	}
	names := make([]string, len(causes))
	for i, cause := range causes {
		names[i] = types(cause)
	}
	if len(names) == 0 {
		return text
	}
	return text + ": " + strings.Join(names, ", ")
}
