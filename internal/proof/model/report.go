package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Report is the result of a search.
type Report struct {
	// States and Transitions count what was visited, at most Depth steps from the start. The search ends at
	// a broken promise.
	States, Transitions, Depth int
	// Took is the duration of the search.
	Took time.Duration
	// Broken is the broken promise, nil for none.
	Broken *Violation
	// Unseen are the sights that were not seen.
	Unseen []string
}

// Violation is a broken promise and a shortest way to it.
type Violation struct {
	// Promise is the name of the broken promise, and Says the promise in words.
	Promise, Says string
	// Trace lists the steps from an initial state.
	Trace []Step
	// Round lists steps that lead from the end of Trace back to it, if the protocol is stuck in a cycle.
	Round []Step
	// From and To are the first and the last state, for human readers.
	From, To string
}

// String returns the promise and the numbered steps that break it, one a line. An asterisk marks a step
// that is Outside.
func (v *Violation) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "breaks %s (%s)\n     from %s\n", v.Promise, v.Says, v.From)
	writeSteps(&text, v.Trace)
	text.WriteString("     to " + v.To + "\n")
	if len(v.Round) > 0 {
		text.WriteString("     and round and round:\n")
		writeSteps(&text, v.Round)
	}
	return text.String()
}

func writeSteps(text *strings.Builder, steps []Step) {
	for i, step := range steps {
		fault := ""
		if step.Outside {
			fault = "  *"
		}
		fmt.Fprintf(text, "%4d %s%s\n", i+1, step, fault)
	}
}

// path returns the states on the way from an initial state to number.
func (s *search[S]) path(number int32) []S {
	var states []S
	for ; number >= 0; number = s.parent[number] {
		states = append(states, s.states[number])
	}
	slices.Reverse(states)
	return states
}

// breaks reports that the last state of path breaks a promise.
func (s *search[S]) breaks(name, says string, path []S) {
	v := &Violation{Promise: name, Says: says, From: s.show(path[0]), To: s.show(path[len(path)-1])}
	for i := range path[1:] {
		v.Trace = append(v.Trace, s.between(path[i], path[i+1]))
	}
	s.report.Broken = v
}

// between returns a step that leads from one state to the other.
func (s *search[S]) between(from, to S) Step {
	var found *Step
	s.model.Next(from, func(step Step, there S) {
		if found == nil && there == to {
			found = &step
		}
	})
	if found == nil {
		return Step{Who: "model", What: "is not deterministic"}
	}
	return *found
}

func (s *search[S]) show(state S) string {
	if s.model.Show != nil {
		return s.model.Show(state)
	}
	return fmt.Sprintf("%+v", state)
}
