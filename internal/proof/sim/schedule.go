package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
)

// Schedule describes a run, past or future.
type Schedule struct {
	// Scenario is the name of the scenario; see Scenarios.
	Scenario string `json:"scenario"`
	// Broken names the rule that the simulated parts break; see Controls. Defaults to
	// none.
	Broken string `json:"broken,omitempty"`
	// Seed decides everything that Choices do not.
	Seed uint64 `json:"seed"`
	// Choices are the decisions, in order. If nil, all are drawn from Seed; otherwise those beyond its
	// end are 0.
	Choices []uint32 `json:"choices"`
}

// validate checks that the scenario and the rule that s names exist. An unknown rule would not be broken
// anywhere, so the run would not show anything.
func (s Schedule) validate() error {
	if scenarios()[s.Scenario] == nil {
		return fmt.Errorf("sim: there is no scenario %q", s.Scenario)
	}
	breaks := func(c Control) bool { return c.Scenario == s.Scenario && c.Broken == s.Broken }
	if s.Broken != "" && !slices.ContainsFunc(Controls(), breaks) {
		return fmt.Errorf("sim: there is no rule %q to break in %s", s.Broken, s.Scenario)
	}
	return nil
}

// Load reads a Schedule that Save has written. Its names must exist.
func Load(file string) (Schedule, error) {
	var s Schedule
	text, err := os.ReadFile(file) //nolint:gosec // the caller names it
	if err != nil {
		return s, fmt.Errorf("sim: load: %w", err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("sim: load %s: %w", file, err)
	}
	return s, s.validate()
}

// Save writes s to a file.
func (s Schedule) Save(file string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("sim: save: %w", err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("sim: save: %w", err)
	}
	return nil
}

// chooser makes the decisions of one run and records them.
type chooser struct {
	list  []uint32
	rng   *rand.Rand // nil if the list decides everything
	taken []uint32
}

func newChooser(s Schedule) *chooser {
	c := &chooser{list: s.Choices}
	if s.Choices == nil {
		c.rng = rand.New(rand.NewPCG(s.Seed, 0x6c656174)) //nolint:gosec // to be repeated
	}
	return c
}

// choose returns a number below n; 0 is the mildest.
func (c *chooser) choose(n uint32) uint32 {
	var v uint32
	switch at := len(c.taken); {
	case c.rng != nil:
		v = c.rng.Uint32N(n)
	case at < len(c.list):
		v = min(c.list[at], n-1)
	}
	c.taken = append(c.taken, v)
	return v
}
