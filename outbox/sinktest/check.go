package sinktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leat-go/leat/internal/fail"
)

const (
	// checkTimeout bounds one check, so that a hanging sink fails.
	checkTimeout = 3 * time.Minute
	// patience bounds the time of a sink's calls if nothing is wrong.
	patience = 30 * time.Second
	// short is the timeout of a Send that cannot succeed.
	short = 500 * time.Millisecond
	// grace is how long after the end of its context a Send may return.
	grace = 10 * time.Second
)

// errLacks is wrapped by the error of a check if a Subject lacks what its Features do not rule out.
var errLacks = errors.New("leat: the subject cannot do what its Features do not rule out")

// Check is one case of the suite.
type Check struct {
	// Name starts with the rule that the check is about.
	Name string

	run  func(ctx context.Context, tr *trial) // fails by package fail
	skip func(f Features) bool                // nil: the check is never skipped
}

// Run runs the check on s, which no other check may have used, and returns the violation if there
// is one. It is bounded by ctx and by three minutes.
func (c Check) Run(ctx context.Context, f Features, s Subject) (err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	tr := newTrial(f, s)
	defer func() {
		if err = errors.Join(err, tr.end()); err != nil {
			err = fmt.Errorf("%s: %w", c.Name, err)
		}
	}()
	return fail.Caught(func() {
		c.run(ctx, tr)
		tr.look(ctx)
	})
}

// Run runs every check that f does not rule out, in parallel, each on a new subject, and logs a
// table of what is checked and what is not. It does not kill the destination: see RunKill.
func Run(t *testing.T, f Features, newSubject func(t *testing.T) Subject) {
	t.Helper()
	t.Run("Features", func(t *testing.T) {
		t.Parallel()
		table, err := claims(t.Context(), f, func() Subject { return newSubject(t) })
		t.Log("\n" + table)
		if err != nil {
			t.Fatal(err)
		}
	})
	for _, c := range checks(f) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if err := c.Run(t.Context(), f, newSubject(t)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// RunKill runs the checks that kill the destination, in parallel, each on a new subject.
func RunKill(t *testing.T, f Features, newSubject func(t *testing.T) Killer) {
	t.Helper()
	for _, c := range killChecks() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if err := c.Run(t.Context(), f, newSubject(t)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// checks returns the checks that Run runs.
func checks(f Features) []Check {
	return slices.DeleteFunc(allChecks(), func(c Check) bool { return c.skip != nil && c.skip(f) })
}

func allChecks() []Check {
	return slices.Concat(
		contentChecks(), repeatChecks(), orderChecks(), refusalChecks(), muteChecks(), stallChecks(), topicChecks(), endChecks(),
	)
}

// Find returns the check with a name.
func Find(name string) (Check, bool) {
	for _, c := range append(allChecks(), killChecks()...) {
		if c.Name == name {
			return c, true
		}
	}
	return Check{}, false
}
