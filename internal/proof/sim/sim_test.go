package sim_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sim"
)

// report reports what went wrong, with the choices that reproduce it.
func report(t *testing.T, r sim.Result) {
	t.Helper()
	small := sim.Shrink(t, r, 300)
	t.Errorf("%s, seed %d (hash %x): %v\nshrunk to %d choices %v: %v", r.Schedule.Scenario, r.Schedule.Seed, r.Hash,
		r.Violations, len(small.Schedule.Choices), small.Schedule.Choices, small.Violations)
}

// TestSeeds runs the real engines through many schedules: all promises are kept.
func TestSeeds(t *testing.T) {
	t.Parallel()
	for _, scenario := range sim.Scenarios() {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			n := seeds(t, 60)
			faults := 0
			for seed := range n {
				r := sim.Run(t, sim.Schedule{Scenario: scenario, Seed: seed}, false)
				if r.Failed() {
					report(t, r)
					return
				}
				for _, count := range r.Faults {
					faults += count
				}
			}
			require.Greater(t, faults, int(n))
		})
	}
}

// TestSameAgain runs seeds twice, and once more from the recorded choices: the histories are equal, event
// by event.
func TestSameAgain(t *testing.T) {
	t.Parallel()
	for _, scenario := range sim.Scenarios() {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			for seed := range seeds(t, 12) {
				a := sim.Run(t, sim.Schedule{Scenario: scenario, Seed: seed}, true)
				b := sim.Run(t, sim.Schedule{Scenario: scenario, Seed: seed}, true)
				same(t, seed, a, b)
				same(t, seed, a, sim.Run(t, a.Schedule, true))
			}
		})
	}
}

// same checks that two histories are equal, and shows where they differ.
func same(t *testing.T, seed uint64, a, b sim.Result) {
	t.Helper()
	for i := range min(len(a.Events), len(b.Events)) {
		require.Equal(t, a.Events[i], b.Events[i], "seed %d, event %d of %d", seed, i, len(a.Events))
	}
	require.Len(t, b.Events, len(a.Events))
	require.Equal(t, a.Hash, b.Hash)
}

// TestControls breaks one rule after another. Each is convicted of everything that it violates, within
// some seeds.
func TestControls(t *testing.T) {
	t.Parallel()
	for _, c := range sim.Controls() {
		t.Run(c.Broken, func(t *testing.T) {
			t.Parallel()
			found := c.Convict(t, 0, most)
			for _, rule := range c.Rules {
				require.Contains(t, found, rule, "in %d seeds", most)
				t.Logf("seed %d: %s", found[rule].Schedule.Seed, found[rule].Violations[0])
			}
		})
	}
}

// most is the number of seeds within which a control must be convicted.
const most = 1000

// TestControls_AreOnThePage: docs/internals/simulation.md has a line for each.
func TestControls_AreOnThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/internals/simulation.md")
	require.NoError(t, err)
	lines := strings.Split(string(page), "\n")
	for _, c := range sim.Controls() {
		require.Contains(t, lines, "| "+c.Broken+" | "+strings.Join(c.Rules, ", ")+" |")
	}
}

// TestLoad_RefusesWhatIsNotThere: a saved schedule with an unknown rule is refused. Otherwise it would run
// without a broken rule and look innocent.
func TestLoad_RefusesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, s := range []sim.Schedule{
		{Scenario: "pipelin"}, {Scenario: "pipeline", Broken: "no such rule"}, {Scenario: "pipeline", Broken: sim.ForgetsDone},
	} {
		file := filepath.Join(t.TempDir(), "schedule.json")
		require.NoError(t, s.Save(file))
		_, err := sim.Load(file)
		require.ErrorContains(t, err, "there is no")
	}
}

// TestSavedScheduleConvictsAgain shrinks a schedule that convicts a control, saves it, and runs it again
// twice.
func TestSavedScheduleConvictsAgain(t *testing.T) {
	t.Parallel()
	for _, c := range sim.Controls() {
		if !slices.Contains([]string{sim.AdvanceOnRead, sim.OrderByXID, sim.ClaimApart}, c.Broken) {
			continue
		}
		t.Run(c.Broken, func(t *testing.T) {
			t.Parallel()
			r, ok := c.Convict(t, 0, most)[c.Rules[0]]
			require.True(t, ok)
			small := sim.Shrink(t, r, 60)
			require.Less(t, len(small.Schedule.Choices), len(r.Schedule.Choices))

			file := filepath.Join(t.TempDir(), "schedule.json")
			require.NoError(t, small.Schedule.Save(file))
			saved, err := sim.Load(file)
			require.NoError(t, err)
			require.Equal(t, small.Schedule, saved)
			for range 2 {
				again := sim.Run(t, saved, false)
				require.Equal(t, small.Hash, again.Hash)
				require.ElementsMatch(t, small.Violations, again.Violations)
			}
			saved.Broken = ""
			require.Empty(t, sim.Run(t, saved, false).Violations, "the schedule is innocent")
		})
	}
}
