package report

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/leat-go/leat/internal/history"
)

// Run is the machine-readable result of a run of the proofs. Every figure of the report comes from
// it.
type Run struct {
	// Start is when the run began.
	Start time.Time `json:"start"`
	// Seconds is the duration of the run.
	Seconds float64 `json:"seconds"`
	// Command is the command that repeats the run.
	Command string `json:"command"`
	// Seed is the seed of the driver.
	Seed uint64 `json:"seed"`
	// Machine describes the machine, such as "linux/amd64, 2 cores, Go 1.26".
	Machine string `json:"machine"`
	// Load is how many processes wanted a core at the end, on average over 15 minutes. It is empty if the
	// system does not report it.
	Load string `json:"load,omitempty"`
	// Daemon is true if the daemon relayed, as leat run does, instead of relays.
	Daemon bool `json:"daemon,omitempty"`
	// Services are the servers and libraries under test, with their versions.
	Services []Service `json:"services"`
	// Processes are the roles, and how many processes each role had at a time.
	Processes []Role `json:"processes,omitempty"`

	// Faults are counted by point and kind. If it is empty, those of the verdict are used.
	Faults []history.FaultCount `json:"faults,omitempty"`
	// Verdict is the verdict of the history checker.
	Verdict history.Verdict `json:"verdict"`
	// Controls are runs that were sabotaged on purpose. They must be convicted.
	Controls []Control `json:"controls,omitempty"`

	// Models, Simulation and Mutations are the outcomes of the other proofs, if they were run.
	Models     []Model     `json:"models,omitempty"`
	Simulation *Simulation `json:"simulation,omitempty"`
	Mutations  *Mutations  `json:"mutations,omitempty"`

	// Samples are taken at regular intervals, in the order of their time.
	Samples []Sample `json:"samples,omitempty"`
	// Marks are the faults that the plots show, in the order of their time.
	Marks []Mark `json:"marks,omitempty"`
}

// Service is a server or library and its version.
type Service struct {
	// Name is the name of the service, such as PostgreSQL.
	Name string `json:"name"`
	// Version is the version that it reports.
	Version string `json:"version"`
}

// Role is a kind of process.
type Role struct {
	// Name is the name of the role, such as relay.
	Name string `json:"name"`
	// Running is how many processes of the role run at a time.
	Running int `json:"running"`
	// Starts is how many processes of the role were started in total.
	Starts int `json:"starts"`
}

// Control is a run in which a rule was broken on purpose.
type Control struct {
	// Name is the rule, such as ack-before-commit.
	Name string `json:"name"`
	// Violated are the checks that have convicted the run. If there are none, the run has passed.
	Violated []string `json:"violated"`
}

// Model is the outcome of an exhaustive model.
type Model struct {
	// Name is the name of the model.
	Name string `json:"name"`
	// States and Transitions count what was explored.
	States      int `json:"states"`
	Transitions int `json:"transitions"`
	// Violations counts the violations of the protocol with all its rules.
	Violations int `json:"violations"`
	// Controls is the number of forbidden variants of the protocol. Caught is how many of them were
	// detected.
	Controls int `json:"controls"`
	Caught   int `json:"caught"`
}

// Simulation is the outcome of the simulated runs.
type Simulation struct {
	// Seeds is the number of seeds that were run. Events and faults are those of these runs.
	Seeds  int `json:"seeds"`
	Events int `json:"events"`
	Faults int `json:"faults"`
	// Violations is the number of seeds that failed.
	Violations int `json:"violations"`
	// Controls is the number of broken variants. Caught is how many of them were convicted.
	Controls int `json:"controls"`
	Caught   int `json:"caught"`
}

// Mutations is the outcome of the mutation run.
type Mutations struct {
	// Mutants is the number of rules that were broken in the code. Killed is how many of them a test has
	// noticed.
	Mutants int `json:"mutants"`
	Killed  int `json:"killed"`
}

// Sample is the state at a moment.
type Sample struct {
	// T is the time since the start in seconds.
	T float64 `json:"t"`
	// Enqueued, Published and Effects are rates per second since the previous sample.
	Enqueued  float64 `json:"enqueued_per_s"`
	Published float64 `json:"published_per_s"`
	Effects   float64 `json:"effects_per_s"`
	// LagMS is the age in milliseconds of the oldest committed event that has had no effect yet. It is 0 if
	// there is none.
	LagMS float64 `json:"lag_ms"`
}

// Mark is a fault in the plots.
type Mark struct {
	// T is the time since the start in seconds.
	T float64 `json:"t"`
	// Point and Kind name the fault.
	Point string `json:"point"`
	Kind  string `json:"kind"`
}

// Duration returns how long the run took.
func (r Run) Duration() time.Duration { return time.Duration(r.Seconds * float64(time.Second)) }

// OK reports whether the run shows no violation, no control that passed and no mutant
// that survived.
func (r Run) OK() bool { return len(r.Failures()) == 0 }

// Load reads a run from a file of JSON.
func Load(path string) (Run, error) {
	b, err := os.ReadFile(path) //nolint:gosec // the caller chooses it
	if err != nil {
		return Run{}, fmt.Errorf("read run: %w", err)
	}
	var r Run
	if err := json.Unmarshal(b, &r); err != nil {
		return Run{}, fmt.Errorf("decode run %s: %w", path, err)
	}
	return r, nil
}

// Save writes the run to a file of JSON.
func (r Run) Save(path string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode run: %w", err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("write run: %w", err)
	}
	return nil
}
