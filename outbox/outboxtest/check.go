package outboxtest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leat-go/leat/internal/fail"
)

// checkTimeout bounds one check, so that a hanging outbox fails.
const checkTimeout = 2 * time.Minute

// Check is one case of the suite.
// See design 18.2.
type Check struct {
	// Name starts with the invariant that the check is about.
	Name string

	run  func(ctx context.Context, tr *trial) // fails by package fail
	skip func(f Features) bool                // nil: the check is never skipped
}

// Run runs the check on s, which no other check may have used, and returns the violation if there
// is one. It is bounded by ctx and by two minutes.
func (c Check) Run(ctx context.Context, f Features, s Subject) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	tr := &trial{Subject: s, features: f.withDefaults()}
	defer tr.end()
	if err := fail.Caught(func() { c.run(ctx, tr) }); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return nil
}

// Run runs every check of the outbox that f does not rule out, in parallel,
// each on a new subject, and RunClaims.
func Run(t *testing.T, f Features, newSubject func(t *testing.T) Subject) {
	t.Helper()
	RunClaims(t, f, newSubject)
	runAll(t, Checks(f), f, newSubject)
}

// RunClaims logs what is checked of the outbox and what is not, and fails if f rules out a
// feature that the outbox has; see Claims.
func RunClaims(t *testing.T, f Features, newSubject func(t *testing.T) Subject) {
	t.Helper()
	t.Run("Features", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), checkTimeout)
		defer cancel()
		table, err := Claims(ctx, f, newSubject(t))
		t.Log("\n" + table)
		if err != nil {
			t.Fatal(err)
		}
	})
}

// RunRelay runs every check of the outbox together with the relay that f does
// not rule out, in parallel, each on a new subject.
func RunRelay(t *testing.T, f Features, newSubject func(t *testing.T) Subject) {
	t.Helper()
	runAll(t, RelayChecks(f), f, newSubject)
}

func runAll(t *testing.T, checks []Check, f Features, newSubject func(t *testing.T) Subject) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if err := c.Run(t.Context(), f, newSubject(t)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Checks returns the checks that Run runs.
func Checks(f Features) []Check {
	return applicable(outboxChecks(), f)
}

// RelayChecks returns the checks that RunRelay runs.
func RelayChecks(f Features) []Check {
	return applicable(relayChecks(), f)
}

func outboxChecks() []Check {
	return slices.Concat(
		commitChecks(), copyChecks(), lossChecks(), counterChecks(), groundChecks(), orderChecks(), leaseChecks(), positionChecks(),
		groupChecks(), startChecks(), topicChecks(), wakeChecks(), heldChecks(), parkedChecks(), delayChecks(),
		slotChecks(), slotChangeChecks(), seekChecks(), replayChecks(), adminChecks(),
	)
}

func relayChecks() []Check {
	return slices.Concat(
		relayFlowChecks(), relaySlotChecks(), relayFaultChecks(), relayExactlyOnceChecks(), relayStopChecks(),
		relayPoisonChecks(),
	)
}

// Find returns the check of the suite with a name.
func Find(name string) (Check, bool) {
	for _, c := range slices.Concat(outboxChecks(), relayChecks(), tailChecks()) {
		if c.Name == name {
			return c, true
		}
	}
	return Check{}, false
}

func applicable(all []Check, f Features) []Check {
	var out []Check
	for _, c := range all {
		if c.skip == nil || !c.skip(f) {
			out = append(out, c)
		}
	}
	return out
}

// trial is a Subject with what is left to clean up after the check.
type trial struct {
	Subject

	features Features
	cleanups []func()
}

// end rolls back the transactions that a failed check has left open, in reverse.
func (tr *trial) end() {
	for _, cleanup := range slices.Backward(tr.cleanups) {
		cleanup()
	}
}

func (tr *trial) cleanup(f func()) {
	tr.cleanups = append(tr.cleanups, f)
}
