package memoutbox

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/outboxtest"
)

// The rules of tails that a subject breaks.
const (
	tailSilent     = "a tail does not ring"
	tailBlocks     = "a tail that waits to begin keeps the log from being read"
	earlyFirst     = "what a tail brings is handed out before the rest of the window"
	earlyAgain     = "what was sent early is read again"
	earlyPasses    = "the position goes to the highest number that came early"
	withdrawnGone  = "what was withdrawn does not come again"
	withdrawnStays = "what was withdrawn is still to be sent"
)

// TestTailControls: each check of a tail finds the ones that break its rule.
func TestTailControls(t *testing.T) {
	t.Parallel()
	for broken, caught := range brokenTails() {
		t.Run(broken, func(t *testing.T) {
			t.Parallel()
			for name, complaint := range caught {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { expectCaught(t, name, complaint, newTailed(t, broken)) })
				})
			}
		})
	}
}

func brokenTails() map[string]map[string]string {
	return map[string]map[string]string{
		tailSilent:     {"Tail_O2_BringsWhatRingsNoBell": "no wake"},
		tailBlocks:     {"Tail_O11_BeginsInTheBackground": "nothing comes"},
		earlyFirst:     {"Tail_O5_KeysKeepTheirOrderAtTheSeam": "key key0"},
		earlyAgain:     {"Tail_O5_KeysKeepTheirOrderAtTheSeam": "twice"},
		earlyPasses:    {"Tail_O2_EarlyThenCrash": "lost in a crash", "Tail_O2_EarlyPassesNoLateCommit": "committed late"},
		withdrawnGone:  {"Tail_O2_WithdrawnComesAgain": "withdrawn"},
		withdrawnStays: {"Tail_O2_WithdrawnComesAgain": "still to be sent"},
	}
}

// TestTailWithoutBreakage: a tail that breaks no rule passes, and each check has a control.
func TestTailWithoutBreakage(t *testing.T) {
	t.Parallel()
	controlled := make(map[string]bool)
	for _, caught := range brokenTails() {
		for name := range caught {
			controlled[name] = true
		}
	}
	for _, check := range outboxtest.TailChecks(outboxtest.Features{}) {
		require.True(t, controlled[check.Name], check.Name)
		t.Run(check.Name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				require.NoError(t, check.Run(t.Context(), outboxtest.Features{}, newTailed(t, "")))
			})
		})
	}
}
