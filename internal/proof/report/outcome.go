package report

import (
	"fmt"

	"github.com/leat-go/leat/internal/proof/history"
)

// FaultCounts are the faults of the run by point and kind.
func (r Run) FaultCounts() []history.FaultCount {
	if len(r.Faults) > 0 {
		return r.Faults
	}
	return r.Verdict.Faults
}

// FaultTotals sums the faults: points and kinds that were struck, faults injected,
// and those that count.
func (r Run) FaultTotals() (points, injected, counted int) {
	for _, f := range r.FaultCounts() {
		points++
		injected += f.Injected
		counted += f.Counted
	}
	return points, injected, counted
}

// Failures say what went wrong in the run, one sentence each.
func (r Run) Failures() []string {
	var all []string
	for _, f := range r.Verdict.Checks {
		if f.Violations > 0 {
			all = append(all, fmt.Sprintf("%s was violated %d times: %s", f.Name, f.Violations, f.Promise))
		}
	}
	for _, c := range r.Controls {
		if len(c.Violated) == 0 {
			all = append(all, fmt.Sprintf("the control %s was not convicted", c.Name))
		}
	}
	for _, m := range r.Models {
		if m.Violations > 0 || m.Caught < m.Controls {
			all = append(all, fmt.Sprintf("the model %s has %d violations and caught %d of %d controls",
				m.Name, m.Violations, m.Caught, m.Controls))
		}
	}
	if s := r.Simulation; s != nil && (s.Violations > 0 || s.Caught < s.Controls) {
		all = append(all, fmt.Sprintf("the simulation failed on %d seeds and caught %d of %d controls",
			s.Violations, s.Caught, s.Controls))
	}
	if m := r.Mutations; m != nil && m.Killed < m.Mutants {
		all = append(all, fmt.Sprintf("%d of %d mutants survived", m.Mutants-m.Killed, m.Mutants))
	}
	return all
}
