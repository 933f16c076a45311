package bench_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
)

// aims is the table that is printed at the end of a run.
type aims struct {
	rows []string
}

// judge adds a row: how many times faster one is than the best of the others, and the factor that it
// should reach.
func (a *aims) judge(b *testing.B, f figures, aim float64, one string, others ...string) {
	b.Helper()
	best, byTime, byProcessor := "", 0.0, 0.0
	for _, other := range others {
		if t, p := f.ratio(one, other); best == "" || t < byTime {
			best, byTime, byProcessor = other, t, p
		}
	}
	verdict := "met"
	if byTime < aim {
		verdict = "MISSED"
	}
	mine, sent := f.total(one)
	his, sentByOther := f.total(best)
	name := strings.TrimPrefix(b.Name(), "BenchmarkStores/")
	a.rows = append(a.rows, fmt.Sprintf("%s\t%s\t%s\t%.2f\t%.2f\t%s\t%.2f\t%.0f\t%.0f\t%.3f\t%.3f",
		name, one, best, aim, byTime, verdict, byProcessor, mine, his, sent, sentByOther))
	b.ReportMetric(byTime, one+"-x-"+best)
}

func (a *aims) print() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\nbenchmark\twhat\tbeside\taim\tby time\t\tby processor\tµs\tits µs\tstatements\tits statements")
	for _, row := range a.rows {
		_, _ = fmt.Fprintln(w, row)
	}
	_ = w.Flush()
}
