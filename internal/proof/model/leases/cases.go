package leases

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/internal/proof/model"
)

const title = "redis lease"

// Cases are the protocol and its forbidden variants.
func Cases() []model.Case {
	two := bounds{faults: 3, runs: 2}
	three := bounds{faults: 2, runs: 3}
	cases := []model.Case{
		{Model: title, Variant: "two runs at a time, three faults", Run: check(protocol{bounds: two}, sights())},
		{Model: title, Variant: "three runs at a time, two faults", Run: check(protocol{bounds: three}, nil)},
	}
	for _, v := range []struct {
		variant, breaks string
		rules           rules
	}{
		{"acks what is in work elsewhere", "D6", rules{ackBusy: true}},
		{"marks as done before the handler", "D6", rules{markFirst: true}},
		{"tells by the expiry what is done", "D6", rules{doneByExpiry: true}},
		{"releases whoever has the lease", "D2", rules{releaseAny: true}},
		{"completes whoever has the lease", "D2", rules{completeAny: true}},
		{"extends whoever has the lease", "D7", rules{extendAny: true}},
		{"takes over before the lease has run out", "D4", rules{steal: true}},
		{"goes on without its lease (TTL without a fence)", "D7", rules{deaf: true}},
		{"deletes the record when it is done", "D3", rules{forgets: true}},
	} {
		cases = append(cases, model.Case{
			Model: title, Variant: v.variant, Breaks: v.breaks, Run: check(protocol{rules: v.rules, bounds: two}, nil),
		})
	}
	return cases
}

func check(p protocol, sights []model.Sight[state]) func(context.Context) (model.Report, error) {
	m := model.Model[state]{
		Start:    []state{{record: gone(), faults: p.faults, again: true}},
		Next:     p.next,
		Rest:     func(s state) bool { return s.acked },
		Liveness: "D6",
		Always: []model.Promise[state]{
			{Name: "D6", Says: "what is acknowledged has had its effect", Holds: func(s state) bool { return !s.acked || s.effects > 0 }},
			{Name: "D7", Says: "no two runs believe to have the lease, unless the record was lost", Holds: func(s state) bool {
				return s.lost || holders(s) <= 1
			}},
			{Name: "D3", Says: "where nothing goes wrong, one run has its effect", Holds: func(s state) bool {
				return s.faulted || s.effects <= 1
			}},
		},
		Moves: []model.Move[state]{
			{Name: "D2", Says: "only the run that has the lease ends it", Holds: func(from, to state) bool {
				ends := from.record.kind == pending && (to.record.kind == done || to.record.kind == released)
				return !ends || to.record.by == from.record.token
			}},
			{Name: "D3", Says: "done stays done", Holds: func(from, to state) bool {
				return from.record.kind != done || to.record.kind == done || to.record.kind == absent && to.faulted
			}},
			{Name: "D4", Says: "nobody takes over before the lease has run out", Holds: func(from, to state) bool {
				takes := from.record.kind == pending && to.record.kind == pending && from.record.token != to.record.token
				return !takes || !from.record.live
			}},
		},
		Sights: sights,
		Show:   show,
	}
	return m.Check
}

func (p *protocol) next(s state, yield func(model.Step, state)) {
	for i := range p.runs {
		p.runSteps(s, i, yield)
		p.faultSteps(s, i, yield)
	}
	p.timeSteps(s, yield)
	p.serverFaults(s, yield)
}

// holders counts the runs that work under what they take for their lease.
func holders(s state) int {
	n := 0
	for i := range s.runs {
		if s.runs[i].phase == working && s.runs[i].mine {
			n++
		}
	}
	return n
}

func sights() []model.Sight[state] {
	return []model.Sight[state]{
		{Name: "a completion arrives after another run has taken over", Seen: func(s state) bool {
			return s.runs[0].phase == told && s.runs[0].answer == fenced && s.runs[1].phase == working
		}},
		{Name: "a late claim holds the lease for nobody", Seen: func(s state) bool {
			return s.record.kind == pending && s.record.live && s.record.token == 0 && s.runs[0].phase == unborn && s.runs[1].answer == busy
		}},
		{Name: "two effects after a pause", Seen: func(s state) bool { return s.effects == 2 && !s.lost }},
		{Name: "a lost record is completed", Seen: func(s state) bool { return s.lost && s.record.kind == done }},
	}
}

func show(s state) string {
	what := [...]string{"there is no record", "pending", "released", "done"}[s.record.kind]
	if s.record.kind != absent {
		what += " by " + name(s.record.token)
	}
	if s.record.live {
		what += ", whose lease runs"
	}
	return fmt.Sprintf("%s; effects %d, acknowledged %t", what, s.effects, s.acked)
}
