package gate

import (
	"fmt"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
)

// Floor is the lowest rate of a rival that is plausible. If the rival is slower, something has gone wrong
// with it, and a ratio to it would flatter leat.
type Floor struct {
	// Name is the name of the rival.
	Name string
	// Series is the measured series.
	Series results.Series
	// Expected is its rate on two cores that are otherwise idle.
	Expected float64
}

// tolerated is the fraction of the expected rate that a rival must reach.
const tolerated = 0.7

// Floors returns the expected rates of the rivals, in messages per second. The producer's is known for
// records without headers. With leat's headers it is a third less.
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

// Standing is the result of comparing a rival with its floor.
type Standing struct {
	Floor

	State State
	// Median is its measured rate; 0 if it was not measured.
	Median float64
}

// Least returns the lowest rate that the rival must reach.
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

// Line returns the standing in a format for programs: rival, name, value, "floor", floor, state.
func (s Standing) Line() string {
	value := "-"
	if s.State != NotMeasured {
		value = Figure(s.Median)
	}
	return fmt.Sprintf("rival %s %s floor %s %s", s.Name, value, Figure(s.Least()), s.State)
}
