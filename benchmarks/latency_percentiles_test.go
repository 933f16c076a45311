package benchmarks

import (
	"fmt"
	"testing"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
)

// The places of the percentiles that are recorded.
const (
	at50 = iota
	at75
	at90
	at95
	at99
	at999
	recorded
)

// percents are their percentages.
func percents() [recorded]float64 {
	return [recorded]float64{at50: 50, at75: 75, at90: 90, at95: 95, at99: 99, at999: 99.9}
}

// percentiles are in milliseconds: from the time at which a message was due, and
// from when its commit had returned.
type percentiles struct {
	whole, commit [recorded]float64
}

func percentilesOf(values []float64) (of [recorded]float64) {
	for i, percent := range percents() {
		of[i] = compare.Quantile(values, percent/100)
	}
	return of
}

// p99s are the 99th percentiles of all rounds, from when messages were due.
func p99s(seen []percentiles) []float64 {
	values := make([]float64, len(seen))
	for round := range seen {
		values[round] = seen[round].whole[at99]
	}
	return values
}

// reportPercentiles records the percentiles of all rounds of a case, and reports the
// medians of the middle one and the 99th.
func reportPercentiles(b *testing.B, name string, seen []percentiles) {
	b.Helper()
	for i, percent := range percents() {
		whole, commit := make([]float64, len(seen)), make([]float64, len(seen))
		for round := range seen {
			whole[round], commit[round] = seen[round].whole[i], seen[round].commit[i]
		}
		unit := fmt.Sprintf("p%g-ms", percent)
		results.Record(b, name, unit, whole...)
		results.Record(b, name, "commit-"+unit, commit...)
		if i == at50 || i == at99 {
			b.ReportMetric(compare.Median(whole), name+"-"+unit)
			b.ReportMetric(compare.Median(commit), name+"-commit-"+unit)
		}
	}
}
