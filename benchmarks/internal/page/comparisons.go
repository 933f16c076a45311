package page

import (
	"slices"
	"strings"

	"github.com/leat-go/leat/benchmarks/internal/results"
)

// comparison is a benchmark with contenders.
type comparison struct {
	// Name is the name of the benchmark. Unit is the unit of its rates or times.
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

// speed returns the ratio of two rates. For times it returns the inverse ratio, so that more is always
// better.
func (f *figures) speed(benchmark, of, to, unit string) string {
	if isTime(unit) {
		of, to = to, of
	}
	return f.ratio(benchmark, of, to, unit)
}

// has reports whether a benchmark has a contender of this name.
func (f *figures) has(benchmark, contender string) bool {
	return slices.ContainsFunc(f.run.Samples.Series(), func(s results.Series) bool {
		return s.Benchmark == benchmark && s.Contender == contender
	})
}

// sweeps returns comparisons of one rival's settings. The chosen settings come first.
func (f *figures) sweeps() []comparison {
	return slices.DeleteFunc(f.comparisons(), func(c comparison) bool { return !strings.HasSuffix(c.Name, "Sweep") })
}

// rest returns the comparisons that no other part of the page has shown.
func (f *figures) rest() []comparison {
	return slices.DeleteFunc(f.comparisons(), func(c comparison) bool { return f.shown[c.Name] })
}
