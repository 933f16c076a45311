package gate

import (
	"fmt"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
)

// Floor is the least that a rival reaches if nothing has gone wrong with it. A ratio to a slower
// rival would flatter leat.
type Floor struct {
	// Name is the name of the rival.
	Name string
	// Series is the measured series.
	Series results.Series
	// Expected is its rate on two otherwise idle cores.
	Expected float64
}

// tolerated is the part of the expected rate that a rival must reach.
const tolerated = 0.7

// Floors returns the expected rates of the rivals, in messages a second. The producer's is known
// for records without headers: with leat's headers, it is a third less.
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

// Standing is the result of a rival.
type Standing struct {
	Floor

	State State
	// Median is its measured rate; 0 if it was not measured.
	Median float64
}

// Least is the least rate that the rival must reach.
func (f Floor) Least() float64 { return tolerated * f.Expected }

// Check compares the samples with the floors.
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
