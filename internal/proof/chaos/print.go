package chaos

import (
	"fmt"
	"io"
	"strings"

	"github.com/leat-go/leat/internal/proof/history"
	"github.com/leat-go/leat/internal/proof/report"
)

// Print writes what was injected and what was found, for people.
func Print(w io.Writer, r report.Run) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-38s %-22s %9s %9s\n", "point", "kind", "injected", "counted")
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "%-38s %-22s %9d %9d\n", f.Point, f.Kind, f.Injected, f.Counted)
	}
	points := Points(r.Faults)
	least, name := 0, ""
	injected, counted := 0, 0
	for _, f := range r.Faults {
		injected += f.Injected
		counted += f.Counted
		if n := points[f.Point]; name == "" || n < least {
			least, name = n, f.Point
		}
	}
	fmt.Fprintf(&b, "\n%d faults injected, %d count (work in flight, and a consequence), at %d points; least at %s: %d\n\n",
		injected, counted, len(points), name, least)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print the run: %w", err)
	}
	return r.Verdict.Print(w)
}

// Points sums the faults that count by their points.
func Points(faults []history.FaultCount) map[string]int {
	points := map[string]int{}
	for _, f := range faults {
		points[f.Point] += f.Counted
	}
	return points
}
