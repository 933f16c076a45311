package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
)

// Schedule is how a run went or is to go.
type Schedule struct {
	// Scenario is the name of what is run; see Scenarios.
	Scenario string `json:"scenario"`
	// Broken names the rule that the simulated parts break; see Controls. Defaults to
	// none.
	Broken string `json:"broken,omitempty"`
	// Seed decides what Choices do not.
	Seed uint64 `json:"seed"`
	// Choices are the decisions, in order. Where it is nil all are drawn from Seed;
	// else those beyond its end are 0.
	Choices []uint32 `json:"choices"`
}

// validate reports whether what s names is there: a rule that nobody breaks would convict
// nothing.
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

// Load reads a Schedule that Save has written. What it names must be there.
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
	rng   *rand.Rand // nil where the list decides it all
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
