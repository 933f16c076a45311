// Package compare runs contenders in turns and reports medians.
package compare

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leat-go/leat/benchmarks/internal/results"
)

// Contender is one side of a comparison.
type Contender struct {
	// Name is the prefix of its metrics.
	Name string
	// Ops is the number of operations in one Run.
	Ops int
	// Run executes the operations and returns how long they took.
	Run func(round int) (time.Duration, error)
}

// rate is a number of operations per second.
type rate = float64

// UnitOps is the unit of a series with the number of operations in a round of the contender.
const UnitOps = "ops"

// Rounds runs rounds × b.N rounds of all contenders, in turns and in an order
// that is reversed every other round, records the rates of each round, and reports:
//
//   - unit: the rate of the first contender,
//   - name-unit: the rates of the others,
//   - x-name: how many times faster the first is than the other.
//
// All are medians; the log has the intervals of the ratios. If only is not empty, the contender of
// that name runs alone.
func Rounds(b *testing.B, rounds int, only, unit string, contenders ...Contender) {
	b.Helper()
	if only != "" {
		contenders = slices.DeleteFunc(contenders, func(c Contender) bool { return c.Name != only })
	}
	if len(contenders) == 0 {
		b.Skipf("has no contender called %s", only)
	}
	rates := make([][]rate, len(contenders))
	for _, c := range contenders {
		results.Record(b, c.Name, UnitOps, float64(c.Ops))
	}
	for range b.N {
		for range rounds {
			round := len(rates[0])
			for _, i := range Order(round, len(contenders)) {
				took, err := contenders[i].Run(round)
				if err != nil {
					b.Fatalf("%s, round %d: %v", contenders[i].Name, round, err)
				}
				rates[i] = append(rates[i], float64(contenders[i].Ops)/took.Seconds())
			}
			// Only whole rounds count, since ratios are those within a round.
			for i, c := range contenders {
				results.Record(b, c.Name, unit, rates[i][round])
			}
		}
	}
	report(b, unit, contenders, rates)
}

// Order returns the order of n contenders in a round: 0…n-1, or the reverse in odd rounds.
func Order(round, n int) []int {
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
	b.ReportMetric(0, "ns/op") // this figure is useless, since an iteration is a whole comparison
	b.ReportMetric(Median(rates[0]), unit)
	for i, c := range contenders {
		line := fmt.Sprintf("%-10s %d rounds of %d: %.0f %s", c.Name, len(rates[i]), c.Ops, Median(rates[i]), unit)
		if i > 0 {
			ratios := Ratios(rates[0], rates[i])
			low, high := Interval(ratios)
			b.ReportMetric(Median(rates[i]), c.Name+"-"+unit)
			b.ReportMetric(Median(ratios), "x-"+c.Name)
			line += fmt.Sprintf("; x-%s %.3f [%.3f, %.3f]", c.Name, Median(ratios), low, high)
		}
		b.Log(line)
	}
}
