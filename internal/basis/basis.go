// Package basis compares the facts that a stored position, or the memory of an inbox, depends on with the
// current ones: the cluster, the log and its numbers. It does not depend on a database: stores keep and
// read the facts.
//
// A fact is declared once, in facts.go, with its class, its text and what to do. Its names in
// errors, in the suite and in docs/internals/moved.md are made from there. See design 2.14.
package basis

import (
	"cmp"
	"errors"
	"fmt"
)

// Class is the kind of change that is refused.
type Class string

const (
	// Identity marks a fact that must stay the same.
	Identity Class = "identity"
	// Monotone marks a fact that must not go back.
	Monotone Class = "monotone"
	// Meaning marks a fact that the operator who configures a relay decides. A change that loses
	// nothing is logged. One that leaves messages behind is refused, with their number.
	Meaning Class = "meaning"
)

// FactError is a fact, and also the error reported when it has changed: errors.Is finds it in what
// Same, Reached and Refuse return.
type FactError struct {
	// Name is unique. The suite's checks are named by it.
	Name string
	// Class is the kind of change that is refused.
	Class Class
	// Says describes the fault once the fact has changed.
	Says string
	// Do is what an operator should do then.
	Do string
	// Uses are the stores that have this fact.
	Uses []Use
}

// Error returns the description of the fault.
func (f *FactError) Error() string { return "leat: " + f.Says }

// Same refuses a fact that differs from the stored one. what names the compared thing in a few
// words.
func Same[T comparable](f *FactError, what string, then, now T) error {
	if then == now {
		return nil
	}
	return Refuse(f, fmt.Sprintf("%s was %s and is %s", what, text(then), text(now)))
}

// Reached refuses a fact that is now behind then.
func Reached[T cmp.Ordered](f *FactError, what string, then, now T) error {
	if now >= then {
		return nil
	}
	return Refuse(f, fmt.Sprintf("%s %s was reached, and it is at %s", what, text(then), text(now)))
}

// text is a value in an error.
func text(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%.100q", s)
	}
	return fmt.Sprint(v)
}

// Refuse returns the error of a change, with the evidence and what to do.
func Refuse(f *FactError, what string) error { return fmt.Errorf("%w: %s: %s", f, what, f.Do) }

// IsMoved reports whether err is about a fact that has changed. A caller that retried automatically
// would lose messages.
func IsMoved(err error) bool {
	_, moved := errors.AsType[*FactError](err)
	return moved
}
