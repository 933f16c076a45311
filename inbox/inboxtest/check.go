package inboxtest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leat-go/leat/internal/fail"
)

// checkTimeout bounds one check, so that an inbox that hangs fails.
const checkTimeout = time.Minute

// Check is one case of the suite.
type Check struct {
	// Name starts with the invariant that the check is about.
	Name string

	run  func(ctx context.Context, s Subject) // fails by package fail
	skip func(f Features) bool                // nil: the check is never skipped
}

// Run runs the check on s, which no other check may have used, and returns what
// is wrong with it. It is bounded by ctx and by a minute.
func (c Check) Run(ctx context.Context, s Subject) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := fail.Caught(func() { c.run(ctx, s) }); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return nil
}

// Run runs every check that f does not rule out, in parallel, each on a new subject, and logs the
// table of Claims. Failures, the operators' interface and batches have suites of their own:
// RunFailures, RunAdmin and RunBatch.
func Run(t *testing.T, f Features, newSubject func(t *testing.T) Subject) {
	t.Helper()
	runClaims(t, func(t *testing.T) (string, error) {
		t.Helper()
		return Claims(t.Context(), f, newSubject(t))
	})
	runAll(t, Checks(f), newSubject)
}

// runAll runs checks in parallel, each on a new subject.
func runAll[S Subject](t *testing.T, checks []Check, newSubject func(t *testing.T) S) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if err := c.Run(t.Context(), newSubject(t)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Checks returns the checks that Run runs.
func Checks(f Features) []Check {
	var all []Check
	for _, group := range [][]Check{onceChecks(), atomicChecks(), ackChecks(), failureChecks(), concurrentChecks(), racerChecks(), forgetChecks(), idAndContextChecks(), groundChecks(), markChecks()} {
		all = append(all, possible(group, f)...)
	}
	return all
}

// possible returns the checks that f does not rule out.
func possible(checks []Check, f Features) (all []Check) {
	for _, c := range checks {
		if c.skip == nil || !c.skip(f) {
			all = append(all, c)
		}
	}
	return all
}

// Find returns the check with this name from any suite of inboxes of ids.
func Find(name string) (Check, bool) {
	var f Features
	for _, c := range slices.Concat(Checks(f), FailureChecks(f), AdminChecks(f), BatchChecks(f)) {
		if c.Name == name {
			return c, true
		}
	}
	return Check{}, false
}
