package main

import (
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leat-go/leat/internal/proof/sim"
)

// options are the flags, and the results of the runs.
type options struct {
	seeds, from      uint64
	scenario, broken string
	replay, out      string
	trace, controls  bool
	twice            bool
	shrinks          int

	runs, steps, failed int
	virtual             time.Duration
	faults              map[sim.Fault]int
}

func (o *options) register(f *flag.FlagSet) {
	o.faults = make(map[sim.Fault]int)
	f.Uint64Var(&o.seeds, "seeds", 1000, "number of seeds, for each scenario")
	f.Uint64Var(&o.from, "from", 0, "first seed")
	f.StringVar(&o.scenario, "scenario", "", "one of "+strings.Join(sim.Scenarios(), ", ")+"; where empty all, or that of the rule to break")
	f.StringVar(&o.broken, "broken", "", "rule to break, as -controls names them")
	f.StringVar(&o.replay, "replay", "", "file with a schedule to run instead")
	f.StringVar(&o.out, "out", ".", "directory for the schedules of failures")
	f.BoolVar(&o.trace, "trace", false, "print the history of a replay, step by step")
	f.BoolVar(&o.controls, "controls", false, "break each rule in turn, and want each to be convicted")
	f.BoolVar(&o.twice, "twice", false, "run each seed twice, and want the same history")
	f.IntVar(&o.shrinks, "shrink", 500, "most runs to make a failure simpler")
}

// main is the body of the test that this program runs as.
func (o *options) main(t *testing.T) {
	t.Helper()
	switch {
	case o.replay != "":
		o.again(t)
	case o.controls:
		o.convict(t)
	default:
		o.search(t)
	}
}

// again runs a saved schedule again.
func (o *options) again(t *testing.T) {
	t.Helper()
	s, err := sim.Load(o.replay)
	if err != nil {
		t.Fatal(err)
	}
	r := sim.Run(t, s, o.trace)
	for _, e := range r.Events {
		fmt.Println(e)
	}
	o.count(r)
	o.say(r)
	if r.Failed() {
		t.Fail()
	}
}

// search runs one seed after the other. It stops at the third failure.
func (o *options) search(t *testing.T) {
	t.Helper()
	scenarios := sim.Scenarios()
	for _, c := range sim.Controls() {
		if c.Broken == o.broken && o.scenario == "" {
			o.scenario = c.Scenario
		}
	}
	if o.scenario != "" {
		scenarios = []string{o.scenario}
	}
	began := time.Now()
	for _, scenario := range scenarios {
		for seed := o.from; seed < o.from+o.seeds && o.failed < 3; seed++ {
			r := sim.Run(t, sim.Schedule{Scenario: scenario, Broken: o.broken, Seed: seed}, false)
			o.count(r)
			o.compare(t, r)
			if r.Failed() {
				o.failed++
				o.say(r)
				o.keep(t, sim.Shrink(t, r, o.shrinks))
				t.Fail()
			}
		}
	}
	o.summary(time.Since(began))
}

// compare runs r again if -twice is set, and fails if the result differs.
func (o *options) compare(t *testing.T, r sim.Result) {
	t.Helper()
	if !o.twice {
		return
	}
	s := r.Schedule
	s.Choices = nil
	if again := sim.Run(t, s, false); again.Hash != r.Hash {
		fmt.Printf("%s seed %d: hash %016x, and %016x the second time\n", s.Scenario, s.Seed, r.Hash, again.Hash)
		t.Fail()
	}
}

func (o *options) count(r sim.Result) {
	o.runs++
	o.steps += r.Steps
	o.virtual += r.Virtual
	for f, n := range r.Faults {
		o.faults[f] += n
	}
}

// say prints the violations of a run.
func (o *options) say(r sim.Result) {
	fmt.Printf("%s seed %d: %d steps in %s, hash %016x\n", r.Schedule.Scenario, r.Schedule.Seed, r.Steps, r.Virtual, r.Hash)
	for _, v := range r.Violations {
		fmt.Println("  VIOLATED", v)
	}
}

// keep saves the schedule of a failure.
func (o *options) keep(t *testing.T, r sim.Result) {
	t.Helper()
	file := filepath.Join(o.out, fmt.Sprintf("%s-%d.json", r.Schedule.Scenario, r.Schedule.Seed))
	if err := r.Schedule.Save(file); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("  shrunk to %d choices in %s:\n", len(r.Schedule.Choices), file)
	o.say(r)
}

func (o *options) summary(took time.Duration) {
	fmt.Printf("%d runs, %d failed, %d steps, %s of virtual time in %s: %.0f runs a minute\n",
		o.runs, o.failed, o.steps, o.virtual.Round(time.Second), took.Round(time.Millisecond), float64(o.runs)/took.Minutes())
	total := 0
	for _, f := range slices.Sorted(maps.Keys(o.faults)) {
		fmt.Printf("  %-14s %d\n", f, o.faults[f])
		total += o.faults[f]
	}
	fmt.Printf("  %-14s %d\n", "faults", total)
}

// convict runs each control with the seeds. It fails if a control does not violate all its rules.
func (o *options) convict(t *testing.T) {
	t.Helper()
	for _, c := range sim.Controls() {
		found := c.Convict(t, o.from, o.seeds)
		for _, rule := range c.Rules {
			r, ok := found[rule]
			if !ok {
				fmt.Printf("  NOT CONVICTED of %s within %d seeds: %s\n", rule, o.seeds, c.Broken)
				t.Fail()
				continue
			}
			fmt.Printf("  %-8s at seed %-4d %s\n", rule, r.Schedule.Seed, c.Broken)
		}
	}
}
