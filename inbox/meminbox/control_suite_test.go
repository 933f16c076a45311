package meminbox

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/inboxtest"
)

// negative is a rule that is broken, and what must come of it: by the name of a check, words
// of its complaint.
type negative struct {
	rule   string
	broken func(c *control)
	caught map[string]string
}

// patience bounds a check of a broken inbox, since some wait for what never comes. It is
// virtual time.
const patience = 30 * time.Second

func negatives() []negative {
	return slices.Concat(
		brokenEnds(), brokenTransactions(), brokenProcessors(), brokenClaims(), brokenForgetters(), brokenAttempts(),
		brokenParkers(), brokenRedrives(), brokenKeepers(), brokenBatches(), brokenAdmins(), brokenGround(), brokenMarks(),
	)
}

// checks are those of all suites of ids. Those of positions have their controls in package
// inboxtest, and those of operators' watermarks in package pgwatermark.
func checks() []inboxtest.Check {
	whole := inboxtest.Features{}
	return slices.Concat(
		inboxtest.Checks(whole), inboxtest.FailureChecks(whole), inboxtest.AdminChecks(whole), inboxtest.BatchChecks(whole),
	)
}

func TestNegativeControls(t *testing.T) {
	t.Parallel()
	for _, n := range negatives() {
		t.Run(n.rule, func(t *testing.T) {
			t.Parallel()
			for name, complaint := range n.caught {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { n.expectCaught(t, name, complaint) })
				})
			}
		})
	}
}

func (n negative) expectCaught(t *testing.T, name, complaint string) {
	t.Helper()
	check, ok := inboxtest.Find(name)
	require.True(t, ok, "the suite has no such check")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := newControl()
	n.broken(c)
	require.ErrorContains(t, check.Run(ctx, c), complaint)
}

// TestControlWithoutBreakage shows that what the controls share breaks nothing.
func TestControlWithoutBreakage(t *testing.T) {
	t.Parallel()
	for _, check := range checks() {
		t.Run(check.Name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				require.NoError(t, check.Run(ctx, newControl()))
			})
		})
	}
}

// TestEveryCheckHasAControl: each check of the suite has been seen to find a broken inbox.
func TestEveryCheckHasAControl(t *testing.T) {
	t.Parallel()
	controlled := make(map[string]bool)
	for _, n := range negatives() {
		for name := range n.caught {
			controlled[name] = true
		}
	}
	var without []string
	seen := make(map[string]bool)
	for _, check := range checks() {
		require.False(t, seen[check.Name], "two checks are called %s", check.Name)
		seen[check.Name] = true
		if !controlled[check.Name] {
			without = append(without, check.Name)
		}
	}
	require.Empty(t, without, "checks that nothing has shown to find what they are for")
}
