// Package compare runs contenders in turns and reports medians.
package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Contender is one side of a comparison.
type Contender struct {
	// Name is what its metrics start with.
	Name string
	// Ops is how many operations one Run does.
	Ops int
	// Run does them and returns how long they took.
	Run func(round int) (time.Duration, error)
}

// rate is operations a second.
type rate = float64

// Rounds runs rounds × b.N rounds of all contenders, in turns and in an order
// that is reversed every other round, and reports:
//
//   - unit: the rate of the first contender,
//   - name-unit: the rates of the others,
//   - x-name: how many times faster the first is than the other.
//
// All are medians; the log has their spread. If only is not empty, the contender
// of that name runs alone.
func Rounds(b *testing.B, rounds int, only, unit string, contenders ...Contender) {
	b.Helper()
	if only != "" {
		contenders = slices.DeleteFunc(contenders, func(c Contender) bool { return c.Name != only })
	}
	if len(contenders) == 0 {
		b.Skipf("has no contender called %s", only)
	}
	rates := make([][]rate, len(contenders))
	for range b.N {
		for range rounds {
			round := len(rates[0])
			for _, i := range order(round, len(contenders)) {
				took, err := contenders[i].Run(round)
				if err != nil {
					b.Fatalf("%s, round %d: %v", contenders[i].Name, round, err)
				}
				rates[i] = append(rates[i], float64(contenders[i].Ops)/took.Seconds())
			}
		}
	}
	report(b, unit, contenders, rates)
}

// order is 0…n-1, or the reverse in odd rounds.
func order(round, n int) []int {
	places := make([]int, n)
	for i := range places {
		places[i] = i
	}
	if round%2 == 1 {
		slices.Reverse(places)
	}
	return places
}

func report(b *testing.B, unit string, contenders []Contender, rates [][]rate) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // an iteration is a whole comparison
	b.ReportMetric(Median(rates[0]), unit)
	for i, c := range contenders {
		line := fmt.Sprintf("%-10s %d rounds of %d, %s: %s", c.Name, len(rates[i]), c.Ops, unit, spread(rates[i], 0))
		if i > 0 {
			ratios := make([]float64, len(rates[0]))
			for r := range ratios {
				ratios[r] = rates[0][r] / rates[i][r]
			}
			b.ReportMetric(Median(rates[i]), c.Name+"-"+unit)
			b.ReportMetric(Median(ratios), "x-"+c.Name)
			line += "; x-" + c.Name + ": " + spread(ratios, 3)
		}
		b.Log(line)
	}
}

// spread says how values lie: all of them where they are few, else their
// quartiles.
func spread(values []float64, digits int) string {
	const few = 9
	if len(values) > few {
		return fmt.Sprintf("quartiles %.*f %.*f %.*f, median's 95%% interval %.*f to %.*f",
			digits, Quantile(values, 0.25), digits, Median(values), digits, Quantile(values, 0.75),
			digits, Quantile(values, 0.5-halfInterval(len(values))), digits, Quantile(values, 0.5+halfInterval(len(values))))
	}
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = strconv.FormatFloat(v, 'f', digits, 64)
	}
	return strings.Join(words, " ")
}

// halfInterval is how far from the median, as a share of n values, the order
// statistics lie that hold it with 95 % confidence.
func halfInterval(n int) float64 {
	return 0.98 / math.Sqrt(float64(n))
}

// Median returns the middle of values; see Quantile.
func Median(values []float64) float64 {
	return Quantile(values, 0.5)
}

// Quantile returns the value that the share q of values lies below, q from 0 to
// 1, between neighbours in proportion. It leaves values as they are, which must
// not be empty.
func Quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	place := q * float64(len(sorted)-1)
	low := int(place)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (place-float64(low))*(sorted[high]-sorted[low])
}
