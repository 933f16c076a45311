package exactly

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/internal/proof/model"
)

const title = "exactly once"

// Cases returns the protocol and its forbidden variants.
func Cases() []model.Case {
	three := bounds{terms: 3, records: 2, window: 1}
	two := bounds{terms: 2, records: 3, window: 2}
	copies := bounds{terms: 2, records: 3, window: 2, copies: true, timeouts: true}
	losing := bounds{terms: 2, records: 3, window: 2, vanishes: true, timeouts: true}
	rewinding := bounds{terms: 2, records: 3, window: 2, rewinds: true}
	cases := []model.Case{
		{Model: title, Variant: "three relays in a row", Run: check(protocol{bounds: three}, sights())},
		{Model: title, Variant: "two relays, and PostgreSQL's copy", Run: check(protocol{bounds: copies}, sights())},
		{Model: title, Variant: "two relays, and the position vanishes", Run: check(protocol{bounds: losing}, missing())},
		{Model: title, Variant: "two relays, and the database goes back", Run: check(protocol{bounds: rewinding}, rewound())},
	}
	for _, v := range []struct {
		variant, breaks string
		rules           rules
		bounds          bounds
	}{
		{"reads the position before it fences", "O10", rules{readFirst: true}, two},
		{"fences nobody", "O10", rules{noFence: true}, two},
		{"stores the position after the transaction", "O10", rules{positionAfter: true}, two},
		{"stores the position before the transaction", "O2", rules{positionFirst: true}, two},
		{"sends again after an end without an answer", "O10", rules{retryUnknown: true}, two},
		{"takes an end without an answer for a commit", "O2", rules{trustUnknown: true}, two},
		{"commits although a record was refused", "O2", rules{commitGap: true}, two},
		{"copies the position before the commit", "O12", rules{copyFirst: true}, copies},
		{"begins at PostgreSQL's copy", "O10", rules{fromCopy: true}, copies},
		{"takes a position that is gone for the start", "O10", rules{missingIsZero: true}, losing},
		{"takes a position of lost commits once their transaction ids are used up", "O2", rules{wearsOff: true}, rewinding},
	} {
		cases = append(cases, model.Case{
			Model: title, Variant: v.variant, Breaks: v.breaks, Run: check(protocol{rules: v.rules, bounds: v.bounds}, nil),
		})
	}
	return cases
}

func check(p protocol, sights []model.Sight[state]) func(context.Context) (model.Report, error) {
	m := model.Model[state]{
		Start:    []state{{vanishes: p.vanishes}},
		Next:     p.next,
		Rest:     p.rests,
		Liveness: "O2",
		Always: []model.Promise[state]{
			{Name: "O10", Says: "no record is visible twice", Holds: func(s state) bool { return s.broken != twice }},
			{Name: "O5", Says: "records become visible in order", Holds: func(s state) bool { return s.broken != mixed }},
			{Name: "O2", Says: "all before the position is visible", Holds: func(s state) bool { return s.nothingLost() }},
			{Name: "O12", Says: "PostgreSQL's copy is never ahead", Holds: func(s state) bool { return s.copied <= s.position }},
		},
		Moves: []model.Move[state]{
			{Name: "O12", Says: "the position never goes back", Holds: func(from, to state) bool { return to.position >= from.position }},
		},
		Sights: sights,
		Show: func(s state) string {
			return fmt.Sprintf("visible %s, position before %s, copy before %s", s.visible, place(s.position), place(s.copied))
		},
	}
	return m.Check
}

func (p *protocol) next(s state, yield func(model.Step, state)) {
	for n := range p.terms {
		p.termSteps(s, n, yield)
		p.clusterSteps(s, n, yield)
	}
	p.outsideSteps(s, yield)
}

// rests reports whether everything is delivered or a relay has stopped for an operator.
func (p *protocol) rests(s state) bool {
	for _, t := range s.terms {
		if t.phase == refused {
			return true
		}
	}
	return s.visible == upTo(p.records) || s.missing
}

// nothingLost reports whether every record before the position is visible. After the database went back,
// the position may belong to lost records. Then each relay's own position counts instead.
func (s *state) nothingLost() bool {
	if !s.rewound {
		return upTo(s.position)&^s.visible == 0
	}
	for _, t := range s.terms {
		if !t.old && upTo(t.at)&^s.visible != 0 {
			return false
		}
	}
	return true
}

func sights() []model.Sight[state] {
	return []model.Sight[state]{
		{Name: "a relay waits for the end of what a former one has decided", Seen: func(s state) bool {
			return s.terms[0].stage == prepared && s.terms[1].phase == begun && s.epoch == 2
		}},
		{Name: "a former relay fences the one that has the lease", Seen: func(s state) bool {
			return s.epoch == 2 && s.producer == 1 && s.terms[1].phase == sending
		}},
		{Name: "committed, and its relay has heard nothing", Seen: func(s state) bool {
			return s.terms[0].phase == begun && s.visible == upTo(2) && s.epoch == 1
		}},
		{Name: "a request to commit arrives after its relay has crashed", Seen: func(s state) bool {
			return s.terms[0].phase == ended && s.terms[0].ask && s.epoch == 2
		}},
	}
}

func missing() []model.Sight[state] {
	return []model.Sight[state]{
		{Name: "a relay misses the position", Seen: func(s state) bool { return s.terms[1].phase == refused }},
		{Name: "all is delivered all the same", Seen: func(s state) bool { return !s.vanishes && s.visible == upTo(3) }},
	}
}

func rewound() []model.Sight[state] {
	return []model.Sight[state]{
		{Name: "a relay stops at a position of what was lost, its transaction ids used up", Seen: func(s state) bool {
			return s.passed && s.terms[1].phase == refused
		}},
		{Name: "a relay goes on, since nothing of what was lost was delivered", Seen: func(s state) bool {
			return s.rewound && s.back == 1 && s.terms[1].phase == idle && s.visible == upTo(3)
		}},
		{Name: "a relay delivers what was lost already", Seen: func(s state) bool {
			return s.rewound && s.terms[0].old && s.terms[0].stage == prepared && s.terms[0].mark > s.back
		}},
	}
}
