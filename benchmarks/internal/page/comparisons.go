package page

import (
	"slices"
	"strings"

	"github.com/leat-go/leat/benchmarks/internal/results"
)

// comparison is a benchmark with contenders.
type comparison struct {
	// Name of the benchmark and unit of its rates or times.
	Name, Unit string
	// First is the contender that the others are compared with.
	First string
}

// comparisons lists all benchmarks that have contenders.
func (f *figures) comparisons() []comparison {
	var all []comparison
	for _, s := range f.run.Samples.Series() {
		known := slices.ContainsFunc(all, func(c comparison) bool { return c.Name == s.Benchmark })
		if !known && s.Contender != "" && (strings.HasSuffix(s.Unit, "/s") || s.Unit == "p99-ms") {
			all = append(all, comparison{s.Benchmark, s.Unit, s.Contender})
		}
	}
	return all
}

// isTime reports whether lower values of the unit are better.
func isTime(unit string) bool { return strings.HasSuffix(unit, "ms") }

// speed is the ratio of rates, or the inverse one of times.
func (f *figures) speed(benchmark, of, to, unit string) string {
	if isTime(unit) {
		of, to = to, of
	}
	return f.ratio(benchmark, of, to, unit)
}

// has reports whether there is a contender of this name in a benchmark.
func (f *figures) has(benchmark, contender string) bool {
	return slices.ContainsFunc(f.run.Samples.Series(), func(s results.Series) bool {
		return s.Benchmark == benchmark && s.Contender == contender
	})
}

// sweeps are comparisons of one rival's settings, the chosen settings first.
func (f *figures) sweeps() []comparison {
	return slices.DeleteFunc(f.comparisons(), func(c comparison) bool { return !strings.HasSuffix(c.Name, "Sweep") })
}

// rest are the remaining comparisons of the page, once the others were taken.
func (f *figures) rest() []comparison {
	return slices.DeleteFunc(f.comparisons(), func(c comparison) bool { return f.shown[c.Name] })
}
