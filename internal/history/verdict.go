package history

import "slices"

// Names of the checks.
const (
	O1           = "O1"
	O2           = "O2"
	O3           = "O3"
	O4           = "O4"
	O5           = "O5"
	O10          = "O10"
	I1           = "I1"
	I2           = "I2"
	I3           = "I3"
	Order        = "order"
	Derived      = "derived"
	Conservation = "conservation"
)

// Verdict is the result of checking a history.
type Verdict struct {
	// Input describes the history that was read.
	Input Input `json:"input"`
	// Figures count what happened.
	Figures Figures `json:"figures"`
	// Faults are the faults of the history by point and kind.
	Faults []FaultCount `json:"faults,omitempty"`
	// Checks are the findings, one for each check.
	Checks []Finding `json:"checks"`
}

// Input counts what a history consists of.
type Input struct {
	// Files and Lines that were read.
	Files int `json:"files"`
	Lines int `json:"lines"`
	// Torn lines, the last words of processes that were killed.
	Torn int `json:"torn"`
	// Starts of processes.
	Starts int `json:"starts"`
}

// Figures count events, copies and effects.
type Figures struct {
	// Events are the events that have an intent.
	Events int `json:"events"`
	// Committed, RolledBack and Unresolved are the outcomes, once the ledger has
	// decided those that were unknown; without a ledger those stay unresolved.
	Committed  int `json:"committed"`
	RolledBack int `json:"rolled_back"`
	Unresolved int `json:"unresolved"`
	// Forgotten are the events whose commit the database has lost when it went back.
	Forgotten int `json:"forgotten,omitempty"`
	// Unknown outcomes were not reported to the producer, or not recorded by it.
	Unknown int `json:"unknown"`
	// Records are the records of the topics. Repeats are the records that are not the first of their
	// id. DerivedEvents are the ids that an effect has produced.
	Records       int `json:"records"`
	Repeats       int `json:"repeats"`
	DerivedEvents int `json:"derived_events"`
	// Waiting are messages that are pending, parked or dead.
	Waiting int `json:"waiting"`
	// Deliveries are deliveries to consumers. Redeliveries are the deliveries that are not the first of
	// their id.
	Deliveries   int `json:"deliveries"`
	Redeliveries int `json:"redeliveries"`
	// Effects are the rows of the table of effects.
	Effects int `json:"effects"`
	// AllowedRepeats are repeated effects where repeats are allowed.
	AllowedRepeats int `json:"allowed_repeats"`
}

// FaultCount is how often a kind of fault has struck a point.
type FaultCount struct {
	// Point and Kind name the fault.
	Point string `json:"point"`
	Kind  string `json:"kind"`
	// Injected is how often it struck.
	Injected int `json:"injected"`
	// Counted is how often work was under way and a consequence was seen.
	Counted int `json:"counted"`
	// Consequences is how often each was seen.
	Consequences map[string]int `json:"consequences,omitempty"`
}

// Finding is the outcome of one check.
type Finding struct {
	// Name is the name of the check, such as O2.
	Name string `json:"name"`
	// Promise is the promise that is checked.
	Promise string `json:"promise"`
	// Unjudged is the reason why the check could not be made. Empty if it was made.
	Unjudged string `json:"unjudged,omitempty"`
	// Checked is how many things were looked at.
	Checked int `json:"checked"`
	// Violations is how many of them break the promise.
	Violations int `json:"violations"`
	// First is the first violation.
	First *Offence `json:"first,omitempty"`
}

// Offence is a violation with its history.
type Offence struct {
	// Summary describes the violation.
	Summary string `json:"summary"`
	// Lines are the lines of the history about it, by time, ready to be read.
	Lines []string `json:"lines,omitempty"`
	// Omitted is how many lines are left out.
	Omitted int `json:"omitted,omitempty"`
}

// OK reports whether nothing that was judged is violated.
func (v Verdict) OK() bool {
	return !slices.ContainsFunc(v.Checks, func(f Finding) bool { return f.Violations > 0 })
}

// Violated returns the names of the checks that found a violation.
func (v Verdict) Violated() []string {
	var names []string
	for _, f := range v.Checks {
		if f.Violations > 0 {
			names = append(names, f.Name)
		}
	}
	return names
}

// Finding returns the finding of the given check, and whether there is one.
func (v Verdict) Finding(name string) (Finding, bool) {
	i := slices.IndexFunc(v.Checks, func(f Finding) bool { return f.Name == name })
	if i < 0 {
		return Finding{}, false
	}
	return v.Checks[i], true
}
