// Package fail ends a check of a conformance suite, or a side of an exhibit, by a panic, so that its
// steps need not pass errors on. Call it on the goroutine on which Caught runs the check. On any
// other goroutine nothing recovers the panic: return an error there, or call Caught there as well.
package fail

import (
	"errors"
	"fmt"
	"strings"
)

// failure is the value that a check panics with.
type failure struct{ error }

// If ends the check with err, unless that is nil. The error begins with the words of where.
func If(err error, where ...string) {
	switch {
	case err == nil:
	case len(where) > 0:
		With("%s: %w", strings.Join(where, ": "), err)
	default:
		Now(err)
	}
}

// IfAny ends the check with those of errs that are not nil, if there are any.
func IfAny(errs ...error) {
	If(errors.Join(errs...))
}

// Now ends the check with err.
func Now(err error) {
	panic(failure{err})
}

// With ends the check with the error that fmt.Errorf makes.
func With(format string, args ...any) {
	Now(fmt.Errorf(format, args...))
}

// In calls step. If it ends the check, the error begins with where.
func In(where string, step func()) {
	If(Caught(step), where)
}

// Caught calls check and returns the error with which it has ended, or nil. It does not
// recover other panics.
func Caught(check func()) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case failure:
			err = v.error
		default:
			panic(v)
		}
	}()
	check()
	return nil
}
