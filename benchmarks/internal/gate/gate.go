// Package gate holds the figures of a run against what leat aims at, and those of its
// rivals against what they are known to reach.
package gate

import (
	"fmt"
	"strconv"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
)

// Gate is an aim.
// See design 19.2.
type Gate struct {
	// ID and Name tell gates apart; neither has a space.
	ID, Name string
	// Aim says in words what is aimed at.
	Aim string
	// Of are the values of the gate, or, where To is not zero, they are divided by
	// those of To in the same round.
	Of, To results.Series
	// Goal is what the value must be, at least or, if AtMost, at most.
	Goal   float64
	AtMost bool
	// Close gates need MinRounds rounds or more. Of others the values are far from the goal, or
	// few.
	Close bool
}

// MinRounds is how many rounds a close gate needs.
const MinRounds = 7

// State says how a gate came out.
type State string

// The states of a gate.
const (
	OK          State = "ok"
	Open        State = "open" // the median is beyond the goal, and the interval reaches it
	Missed      State = "missed"
	NotMeasured State = "not measured"
)

// Outcome is how a gate came out.
type Outcome struct {
	Gate

	State State
	// Rounds is how many there were.
	Rounds int
	// Median is what was held against the goal, with its 95 % interval, from Low to High. Where there are no rounds they are 0.
	Median, Low, High float64
}

// Judge holds the samples against the gates.
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

// values are none where a side is missing or has other rounds than the other.
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

// Line is the outcome for machines: gate, id, name, median, its interval, "goal", goal, state.
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

// Figure writes a value with four significant digits or, if there are more, all
// before the point: rounding must not lift a value to its goal.
func Figure(value float64) string {
	if value >= 1000 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 4, 64)
}
