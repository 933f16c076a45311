package chaos

import (
	"fmt"
	"io"
	"strings"

	"github.com/leat-go/leat/internal/proof/report"
)

// Print writes the injected faults and the findings, for human readers.
func Print(w io.Writer, r report.Run) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-38s %-22s %9s %9s\n", "point", "kind", "injected", "counted")
	for _, f := range r.FaultCounts() {
		fmt.Fprintf(&b, "%-38s %-22s %9d %9d\n", f.Point, f.Kind, f.Injected, f.Counted)
	}
	t := r.FaultTotals()
	fmt.Fprintf(&b, "\n%d faults injected, %d count (work in flight, and a consequence), at %d points; least at %s: %d\n\n",
		t.Injected, t.Counted, t.Points, t.LeastAt, t.Least)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print the run: %w", err)
	}
	return r.Verdict.Print(w)
}
