// Package gate compares the figures of a run with leat's goals, and those of its rivals with their
// known rates.
package gate

import (
	"fmt"
	"strconv"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
)

// Gate is a goal. See design 19.2.
type Gate struct {
	// ID and Name identify the gate. Neither contains a space.
	ID, Name string
	// Aim describes the goal in words.
	Aim string
	// Of are the values of the gate. If To is not zero, they are divided by the values of To in the
	// same round.
	Of, To results.Series
	// Goal is the least value that meets the goal or, if AtMost is true, the greatest.
	Goal   float64
	AtMost bool
	// Close gates need at least MinRounds rounds. Other gates have values that are far from the goal, or
	// only a few values.
	Close bool
}

// MinRounds is the number of rounds that a close gate needs.
const MinRounds = 7

// State is the result of a gate.
type State string

// The states of a gate.
const (
	OK          State = "ok"
	Open        State = "open" // the median misses the goal, but the interval reaches it
	Missed      State = "missed"
	NotMeasured State = "not measured"
)

// Outcome is the result of a gate, with its figures.
type Outcome struct {
	Gate

	State State
	// Rounds is the number of rounds.
	Rounds int
	// Median is the value that was compared with the goal. Its 95 % interval is from Low to High. Without
	// rounds they are 0.
	Median, Low, High float64
}

// Judge compares the samples with the gates.
func Judge(set *results.Set, gates []Gate) []Outcome {
	outcomes := make([]Outcome, len(gates))
	for i, g := range gates {
		outcomes[i] = g.judge(set)
	}
	return outcomes
}

func (g Gate) judge(set *results.Set) Outcome {
	values := g.values(set)
	o := Outcome{Gate: g, State: NotMeasured, Rounds: len(values)}
	if len(values) == 0 {
		return o
	}
	o.Median = compare.Median(values)
	o.Low, o.High = compare.Interval(values)
	if g.Close && len(values) < MinRounds {
		return o
	}
	switch beyond := g.beyond; {
	case !beyond(o.Median):
		o.State = OK
	case beyond(o.Low) && beyond(o.High):
		o.State = Missed
	default:
		o.State = Open
	}
	return o
}

// beyond reports whether a value does not meet the goal.
func (g Gate) beyond(value float64) bool {
	return g.AtMost && value > g.Goal || !g.AtMost && value < g.Goal
}

// values returns the values of the gate. It returns none if a side is missing or the sides have different
// rounds.
func (g Gate) values(set *results.Set) []float64 {
	of := set.Values(g.Of)
	if g.To == (results.Series{}) {
		return of
	}
	to := set.Values(g.To)
	if len(of) != len(to) {
		return nil
	}
	return compare.Ratios(of, to)
}

// Line returns the outcome in a format for programs: gate, id, name, median, its interval, "goal", goal,
// state.
func (o Outcome) Line() string {
	value := "-"
	if o.State != NotMeasured {
		value = fmt.Sprintf("%s [%s, %s]", Figure(o.Median), Figure(o.Low), Figure(o.High))
	}
	state := string(o.State)
	if o.State == NotMeasured && o.Rounds > 0 {
		state = fmt.Sprintf("%s: %d of %d rounds", state, o.Rounds, MinRounds)
	}
	return fmt.Sprintf("gate %s %s %s goal %s %s", o.ID, o.Name, value, Figure(o.Goal), state)
}

// Figure writes a value with four significant digits, or with all digits before the point if there are
// more. Otherwise rounding could lift a value to its goal.
func Figure(value float64) string {
	if value >= 1000 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 4, 64)
}
