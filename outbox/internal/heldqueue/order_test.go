package heldqueue_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestO2_O6_NothingPassesAHeldRecord searches for moves of a relay and of operators after
// which something was sent past a held record of its key, lost, or stuck.
func TestO2_O6_NothingPassesAHeldRecord(t *testing.T) {
	t.Parallel()
	for range 25 { // forty lists of moves each, unless rapid is told otherwise
		rapid.Check(t, func(rt *rapid.T) {
			if err := newWorld(nil).play(t.Context(), moves().Draw(rt, "moves")); err != nil {
				rt.Fatal(err)
			}
		})
	}
}

// TestO2_O6_NothingPassesAHeldRecord_Controls: the search finds queues that are broken on
// purpose.
func TestO2_O6_NothingPassesAHeldRecord_Controls(t *testing.T) {
	t.Parallel()
	for name, spoil := range broken() {
		if name == "what was skipped is not noted" {
			continue // a relay does not see that
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range 500 {
				if err := newWorld(spoil).play(t.Context(), moves().Example(seed)); err != nil {
					t.Logf("moves %d: %s", seed, err)
					return
				}
			}
			require.Fail(t, "not noticed")
		})
	}
}
