package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

// ErrUnclaimed is wrapped by the errors of Claims.
var ErrUnclaimed = errors.New("leat: the inbox can do what the Features of its test rule out")

// Claims returns a table of the features of an inbox that are checked and those that are not. It
// returns an error for every feature that f rules out although s has it, so that an adapter
// cannot leave a promise unchecked by claiming too little. No check may have used s before. The
// table shows for each feature:
//
//   - "checked": with the number of checks that would be left out without it, and the suite
//     that has them if it is not Run.
//   - "impossible": s was tested for it, and does not have it.
//   - "not claimed": f rules it out, and s cannot be tested for it.
//   - "NOT CLAIMED": f rules it out, and s has it.
//   - "LACKING": f does not rule it out, and s has no method for the checks.
func Claims(ctx context.Context, f Features, s Subject) (table string, err error) {
	return claims(ctx, f, subjectFeatures(s))
}

// positionClaims is Claims for RunPositions.
func positionClaims(ctx context.Context, f Features, s PositionSubject) (table string, err error) {
	return claims(ctx, f, positionFeatures(s))
}

// watermarkClaims is Claims for RunWatermarks.
func watermarkClaims(ctx context.Context, f Features, s WatermarkSubject) (table string, err error) {
	return claims(ctx, f, watermarkFeatures(s))
}

func claims(ctx context.Context, f Features, features []feature) (table string, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	var errs []error
	for _, x := range features {
		state, err := x.state(ctx, f)
		errs = append(errs, err)
		_, _ = fmt.Fprintf(w, "%s\t%s\n", x.name, state) // a Builder takes everything
	}
	_ = w.Flush()
	return text.String(), errors.Join(errs...)
}

// runClaims logs a table, and fails if the subject has a feature that is not claimed.
func runClaims(t *testing.T, look func(t *testing.T) (string, error)) {
	t.Helper()
	t.Run("Features", func(t *testing.T) {
		t.Parallel()
		table, err := look(t)
		t.Log("\n" + table)
		if err != nil {
			t.Fatal(err)
		}
	})
}

// presence is what is known about a feature of a subject that Features rules out.
type presence int

const (
	unknown presence = iota // there is no way to find out
	absent
	present
)

func found(is bool) presence {
	if is {
		return present
	}
	return absent
}

// feature is a feature of Features, of one subject.
type feature struct {
	name string
	// without is a Features that rules out only this feature.
	without Features
	// lacks reports whether f rules it out.
	lacks func(f Features) bool
	// checks counts the checks that are left with f.
	checks func(f Features) int
	// suite has the checks, if it is not Run.
	suite string
	// there is set if the subject has the methods that the checks of this feature need.
	there bool
	// see looks for the feature in a subject whose Features rule it out.
	see func(ctx context.Context) (presence, error)
}

func (x feature) state(ctx context.Context, f Features) (string, error) {
	if !x.lacks(f) {
		if !x.there {
			return "LACKING", fmt.Errorf("%w: %s", ErrLacks, x.name)
		}
		return fmt.Sprintf("checked\tby %d%s", x.checks(Features{})-x.checks(x.without), x.suite), nil
	}
	is, err := x.see(ctx)
	switch {
	case err != nil:
		return "error", fmt.Errorf("look for %s: %w", x.name, err)
	case is == present:
		return "NOT CLAIMED\tit is there", fmt.Errorf("%w: %s", ErrUnclaimed, x.name)
	case is == absent:
		return "impossible", nil
	default:
		return "not claimed", nil
	}
}

// allChecks returns the checks of Run, RunFailures, RunAdmin and RunBatch.
func allChecks(f Features) []Check {
	return slices.Concat(Checks(f), FailureChecks(f), AdminChecks(f), BatchChecks(f))
}
