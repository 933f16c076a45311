package points

import (
	"regexp"
	"slices"

	"github.com/leat-go/leat/internal/failpoint"
)

// Check is a test that lets each of Kinds happen at each of Points, and looks at what
// has come of it.
type Check struct {
	// Package is the test's directory below the root of the repository.
	Package string
	// Test is its name, which begins with the invariants that it checks.
	Test string
	// Points are where something happens.
	Points []failpoint.Name
	// Kinds are what happens.
	Kinds []Kind
}

var invariant = regexp.MustCompile(`^Test((?:[A-Z][0-9]+_)+)`)

// Invariants returns the names of what the test checks, such as O2.
func (c Check) Invariants() []string {
	found := invariant.FindStringSubmatch(c.Test)
	if found == nil {
		return nil
	}

	return regexp.MustCompile(`[A-Z][0-9]+`).FindAllString(found[1], -1)
}

// covers reports whether the test lets kind happen at point.
func (c Check) covers(point failpoint.Name, kind Kind) bool {
	return slices.Contains(c.Points, point) && slices.Contains(c.Kinds, kind)
}
