package gate

import (
	"fmt"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
)

// Floor is what a rival reaches at least where nothing has gone wrong with it. Ratios
// to a rival that is slower than that would flatter leat.
type Floor struct {
	// Name is the rival's.
	Name string
	// Series is what it was seen to do.
	Series results.Series
	// Expected is what it does on two cores that have nothing else to do.
	Expected float64
}

// tolerated is the part of what is expected that a rival must reach.
const tolerated = 0.7

// Floors returns what is expected of the rivals, in messages a second. The producer is
// known by its records without headers: with those of leat's, it takes a third less.
func Floors() []Floor {
	of := func(benchmark, contender string) results.Series {
		return results.Series{Benchmark: benchmark, Contender: contender, Unit: perSecond}
	}
	return []Floor{
		{Name: "forwarder", Series: of(onKafka, "forwarder"), Expected: 2_900},
		{Name: "debezium", Series: of(besideDebezium, "debezium-streaming"), Expected: 28_000},
		{Name: "raw", Series: of(onKafka, "headerless"), Expected: 690_000},
	}
}

// Standing is how a rival came out.
type Standing struct {
	Floor

	State State
	// Median is what it did; 0 where it was not measured.
	Median float64
}

// Least is what the rival must reach.
func (f Floor) Least() float64 { return tolerated * f.Expected }

// Check holds the samples against the floors.
func Check(set *results.Set, floors []Floor) []Standing {
	standings := make([]Standing, len(floors))
	for i, f := range floors {
		standings[i] = Standing{Floor: f, State: NotMeasured}
		if values := set.Values(f.Series); len(values) > 0 {
			standings[i].Median, standings[i].State = compare.Median(values), OK
			if standings[i].Median < f.Least() {
				standings[i].State = Missed
			}
		}
	}
	return standings
}

// Line is the standing for machines: rival, name, value, "floor", floor, state.
func (s Standing) Line() string {
	value := "-"
	if s.State != NotMeasured {
		value = Figure(s.Median)
	}
	return fmt.Sprintf("rival %s %s floor %s %s", s.Name, value, Figure(s.Least()), s.State)
}
