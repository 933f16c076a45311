package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/gate"
	"github.com/leat-go/leat/benchmarks/internal/results"
)

// none stands for a figure that the run does not have.
const none = "–"

// figures formats the figures of a run for a page.
type figures struct {
	run     Run
	shown   map[string]bool // by name, the benchmarks that the page has shown
	missing []string
}

func (f *figures) functions() template.FuncMap {
	return template.FuncMap{
		"byHand":     f.byHand,
		"contenders": func(benchmark, unit string) []string { return contenders(f.run.Samples, benchmark, unit) },
		"fastest":    func(benchmark, unit string) []string { return fastest(f.run.Samples, benchmark, unit) },
		"figure":     figure,
		"fsync":      f.fsync,
		"gibibytes":  func(bytes uint64) string { return fmt.Sprintf("%.0f", float64(bytes)/(1<<30)) },
		"goal":       gate.Figure,
		"has":        f.has,
		"last":       f.last,
		"list":       func(words ...string) []string { return words },
		"median":     f.median,
		"modules":    f.modules,
		"optional":   f.optional,
		"rate":       f.rate,
		"ratio":      f.ratio,
		"rest":       f.rest,
		"servers":    f.servers,
		"speed":      f.speed,
		"sweeps":     f.sweeps,
		"under":      func(prefix string) []string { return under(f.run.Samples, prefix) },
	}
}

// contenders lists the contenders of a benchmark that have values of the unit, in the order of the
// comparison.
func contenders(set *results.Set, benchmark, unit string) []string {
	var names []string
	for _, s := range set.Series() {
		if s.Benchmark == benchmark && s.Unit == unit {
			names = append(names, s.Contender)
		}
	}
	return names
}

// fastest lists these contenders with the highest rate or the shortest time first.
func fastest(set *results.Set, benchmark, unit string) []string {
	names := contenders(set, benchmark, unit)
	of := func(name string) float64 {
		return compare.Median(set.Values(results.Series{Benchmark: benchmark, Contender: name, Unit: unit}))
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(of(b), of(a)) })
	if isTime(unit) {
		slices.Reverse(names)
	}
	return names
}

// values returns the values of a series. It records a series without values as missing.
func (f *figures) values(benchmark, contender, unit string) []float64 {
	f.shown[benchmark] = true
	values := f.run.Samples.Values(results.Series{Benchmark: benchmark, Contender: contender, Unit: unit})
	if len(values) == 0 {
		f.misses(strings.Join([]string{benchmark, contender, unit}, " "))
	}
	return values
}

func (f *figures) misses(what string) {
	if !slices.Contains(f.missing, what) {
		f.missing = append(f.missing, what)
	}
}

// median returns the median of the rounds.
func (f *figures) median(benchmark, contender, unit string) string {
	values := f.values(benchmark, contender, unit)
	if len(values) == 0 {
		return none
	}
	return figure(compare.Median(values))
}

// optional is median for series that some contenders do not have.
func (f *figures) optional(benchmark, contender, unit string) string {
	if len(f.run.Samples.Values(results.Series{Benchmark: benchmark, Contender: contender, Unit: unit})) == 0 {
		return none
	}
	return f.median(benchmark, contender, unit)
}

// last returns the value of the last round.
func (f *figures) last(benchmark, contender, unit string) string {
	values := f.values(benchmark, contender, unit)
	if len(values) == 0 {
		return none
	}
	return figure(values[len(values)-1])
}

// rate returns the median with the lowest and the highest round.
func (f *figures) rate(benchmark, contender, unit string) string {
	values := f.values(benchmark, contender, unit)
	if len(values) == 0 {
		return none
	}
	return fmt.Sprintf("%s [%s–%s]", figure(compare.Median(values)), figure(slices.Min(values)), figure(slices.Max(values)))
}

// ratio returns the median of the ratios within the rounds, with its interval.
func (f *figures) ratio(benchmark, of, to, unit string) string {
	above, below := f.values(benchmark, of, unit), f.values(benchmark, to, unit)
	if len(above) == 0 || len(above) != len(below) {
		return none
	}
	ratios := compare.Ratios(above, below)
	low, high := compare.Interval(ratios)
	return fmt.Sprintf("**%s** [%s–%s]", figure(compare.Median(ratios)), figure(low), figure(high))
}

// figure writes a value with three significant digits, and with commas.
func figure(value float64) string {
	size := math.Abs(value)
	switch {
	case size == 0:
		return "0"
	case size >= 1000:
		step := math.Pow(10, math.Floor(math.Log10(size))-2)
		return english("%.0f", math.Round(value/step)*step)
	case size >= 100:
		return fmt.Sprintf("%.0f", value)
	case size >= 10:
		return fmt.Sprintf("%.1f", value)
	case size >= 0.1:
		return fmt.Sprintf("%.2f", value)
	default:
		return fmt.Sprintf("%.2g", value)
	}
}

// english writes numbers with commas.
func english(format string, value float64) string {
	return message.NewPrinter(language.English).Sprintf(format, value)
}
