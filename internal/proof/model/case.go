package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrBroken is returned by Judge for a protocol that breaks a promise.
	ErrBroken = errors.New("model: a promise is broken")
	// ErrNotCaught is returned by Judge for a forbidden variant that breaks no promise, or another one
	// than it must.
	ErrNotCaught = errors.New("model: a forbidden variant was not caught")
	// ErrUnseen is returned by Judge for a search that has not seen everything it must.
	ErrUnseen = errors.New("model: something was never seen")
)

// Case is one model to check: a protocol, or a forbidden variant of it.
type Case struct {
	// Model names the protocol. Variant names the rule that is left out or, if Breaks is empty, the
	// bounds of the search.
	Model, Variant string
	// Breaks is the promise that a forbidden variant must break. Empty for a protocol,
	// which must break none.
	Breaks string
	// Run searches the model's states.
	Run func(ctx context.Context) (Report, error)
}

// Name returns the names of model and variant.
func (c Case) Name() string {
	return c.Model + ": " + c.Variant
}

// Forbidden reports whether the case is a negative control.
func (c Case) Forbidden() bool {
	return c.Breaks != ""
}

// Judge returns the reason why r is not the required result, or nil.
func (c Case) Judge(r Report) error {
	switch {
	case !c.Forbidden() && r.Broken != nil:
		return fmt.Errorf("%w: %s %s", ErrBroken, c.Name(), r.Broken)
	case !c.Forbidden() && len(r.Unseen) > 0:
		return fmt.Errorf("%w: %s: %s", ErrUnseen, c.Name(), strings.Join(r.Unseen, "; "))
	case c.Forbidden() && r.Broken == nil:
		return fmt.Errorf("%w: %s breaks nothing in %d states, want %s", ErrNotCaught, c.Name(), r.States, c.Breaks)
	case c.Forbidden() && r.Broken.Promise != c.Breaks:
		return fmt.Errorf("%w: %s %s want %s", ErrNotCaught, c.Name(), r.Broken, c.Breaks)
	default:
		return nil
	}
}

// Outcome describes r in a word or two.
func (c Case) Outcome(r Report) string {
	switch {
	case c.Judge(r) != nil:
		return "FAILED"
	case r.Broken != nil:
		return fmt.Sprintf("caught: %s in %d steps", r.Broken.Promise, len(r.Broken.Trace)+len(r.Broken.Round))
	default:
		return "holds"
	}
}

// Row returns a row of the published table. Its figures are the same on every machine.
func (c Case) Row(r Report) string {
	variant := c.Variant
	if !c.Forbidden() {
		variant = "**" + variant + "**"
	}
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %s |", c.Model, variant, r.States, r.Transitions, r.Depth, c.Outcome(r))
}
