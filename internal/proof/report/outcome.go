package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/history"
)

// FaultCounts returns the faults of the run by point and kind. It includes the failure points of the code
// that no fault has struck.
func (r Run) FaultCounts() []history.FaultCount {
	counts := r.Verdict.Faults
	if len(r.Faults) > 0 {
		counts = r.Faults
	}
	counts = slices.Clone(counts)
	for _, name := range failpoint.Names() {
		point := string(name)
		if !slices.ContainsFunc(counts, func(f history.FaultCount) bool { return f.Point == point }) {
			counts = append(counts, history.FaultCount{Point: point})
		}
	}
	slices.SortStableFunc(counts, func(a, b history.FaultCount) int { return cmp.Compare(a.Point, b.Point) })
	return counts
}

// FaultTotals sums the counts up.
func (r Run) FaultTotals() history.FaultTotals { return history.TotalFaults(r.FaultCounts()) }

// Failures describes what went wrong in the run, one sentence each.
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
