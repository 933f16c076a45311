package points

import (
	"regexp"
	"slices"

	"github.com/leat-go/leat/internal/failpoint"
)

// Check is a test that makes each of Kinds happen at each of Points, and checks the outcome.
type Check struct {
	// Package is the test's directory below the root of the repository.
	Package string
	// Test is the name of the test. It begins with the invariants that the test checks.
	Test string
	// Points are the points at which the failures happen.
	Points []failpoint.Name
	// Kinds are the kinds of failure.
	Kinds []Kind
}

var invariant = regexp.MustCompile(`^Test((?:[A-Z][0-9]+_)+)`)

// Invariants returns the names of the invariants that the test checks, such as O2.
func (c Check) Invariants() []string {
	found := invariant.FindStringSubmatch(c.Test)
	if found == nil {
		return nil
	}

	return regexp.MustCompile(`[A-Z][0-9]+`).FindAllString(found[1], -1)
}

// covers reports whether the test makes kind happen at point.
func (c Check) covers(point failpoint.Name, kind Kind) bool {
	return slices.Contains(c.Points, point) && slices.Contains(c.Kinds, kind)
}
