package sim

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// scenario is a simulated system.
type scenario interface {
	// start starts its parts.
	start()
	// produced reports whether all work has been submitted.
	produced() bool
	// heal ends all trouble.
	heal()
	// settled reports whether all work is done.
	settled() bool
	// check returns the rules that were violated.
	check() []Violation
}

// Violation is a promise that was not kept.
type Violation struct {
	// Rule is the invariant's number.
	Rule string
	// Detail says what happened.
	Detail string
}

// String returns the rule and the detail.
func (v Violation) String() string { return v.Rule + ": " + v.Detail }

// Result is the result of a run.
type Result struct {
	// Schedule repeats the run.
	Schedule Schedule
	// Steps is the number of steps of calls, and Hash the hash of all events.
	Steps int
	Hash  uint64
	// Virtual is the duration of the run in virtual time.
	Virtual time.Duration
	// Faults counts the faults by kind.
	Faults map[Fault]int
	// Violations is empty if all promises were kept.
	Violations []Violation
	// Events is the history.
	Events []Event
}

// Failed reports whether a rule was violated.
func (r Result) Failed() bool { return len(r.Violations) > 0 }

// violates reports whether rule was violated.
func (r Result) violates(rule string) bool {
	return slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Rule == rule })
}

// led returns r with a violation of rule first.
func (r Result) led(rule string) Result {
	all := slices.Clone(r.Violations)
	at := slices.IndexFunc(all, func(v Violation) bool { return v.Rule == rule })
	all[0], all[at] = all[at], all[0]
	r.Violations = all
	return r
}

// Scenarios returns the names of the scenarios.
func Scenarios() []string {
	return slices.Sorted(maps.Keys(scenarios()))
}

func scenarios() map[string]func(*World) scenario {
	return map[string]func(*World) scenario{
		"pipeline": newPipeline,
		"inbox":    newParking,
		"dedupe":   newLeases,
	}
}

const (
	// mostStorm bounds how long the trouble goes on beyond its chosen time, until all work is submitted.
	// mostCalm bounds the time from then until all work is done.
	mostStorm = 20 * time.Second
	mostCalm  = 90 * time.Second
)

// Run runs s once, in a synctest bubble of t. t fails at once if s names an unknown scenario or rule. If
// trace is true, the Events include every step of every call.
func Run(t *testing.T, s Schedule, trace bool) (result Result) {
	t.Helper()
	if err := s.validate(); err != nil {
		t.Fatal(err)
	}
	build := scenarios()[s.Scenario]
	synctest.Test(t, func(*testing.T) {
		w := newWorld(s, trace)
		violations := w.play(build)
		result = Result{
			Schedule: Schedule{Scenario: s.Scenario, Broken: s.Broken, Seed: s.Seed, Choices: w.taken},
			Steps:    w.steps, Hash: w.sum.Sum64(), Virtual: w.now(), Faults: w.faults,
			Violations: violations, Events: w.events,
		}
	})
	return result
}

// play runs a scenario to its end.
func (w *World) play(build func(*World) scenario) []Violation {
	w.calm = w.choose(10) == 0
	faultless := w.calm
	sc := build(w)
	sc.start()
	storm := w.between(time.Second, 6*time.Second)
	w.run(func() bool { return w.now() >= storm }, storm)
	w.run(sc.produced, mostStorm)
	w.calm, w.quick = true, true
	sc.heal()
	settled := w.run(func() bool { return w.amiss == 0 && sc.settled() }, mostCalm)
	violations := w.end()
	if !settled {
		violations = append(violations, Violation{Rule: "liveness", Detail: fmt.Sprintf("work is left %s after all trouble ended", mostCalm)})
	}
	violations = append(violations, sc.check()...)
	if faultless {
		violations = append(violations, once(w.events)...)
	}
	return violations
}

// end stops all processes, one after the other, and kills those that do not stop.
func (w *World) end() (violations []Violation) {
	w.ending, w.quick = true, false
	for _, n := range w.nodes {
		if n.up() {
			w.after(w.between(0, 400*time.Millisecond), n.stop)
		}
	}
	none := func() bool { return w.live.Load() == 0 }
	if !w.run(none, 30*time.Second) {
		violations = append(violations, Violation{Rule: "O13", Detail: "processes do not stop"})
		for _, n := range w.nodes {
			n.kill()
		}
		w.run(none, 30*time.Second)
	}
	return violations
}
