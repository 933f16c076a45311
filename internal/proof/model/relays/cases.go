package relays

import (
	"context"
	"fmt"
	"strings"

	"github.com/leat-go/leat/internal/proof/model"
)

const name = "relay"

// Cases returns the protocol and its forbidden variants.
func Cases() []model.Case {
	order := bounds{terms: 3, poison: []set{0}}
	parking := bounds{terms: 2, people: 2, poison: []set{one(1)}}
	cases := []model.Case{
		{Model: name, Variant: "three relays in a row", Run: check(protocol{bounds: order}, orderSights())},
		{Model: name, Variant: "two relays and a record that is refused", Run: check(protocol{bounds: parking}, parkingSights())},
	}
	for _, v := range []struct {
		variant, breaks string
		rules           rules
		bounds          bounds
	}{
		{"passes records before they are acknowledged", "O2", rules{passUnacked: true}, parking},
		{"claims single records (SKIP LOCKED)", "O5", rules{claimRows: true}, parking},
		{"the channel goes on behind a refused record", "O5", rules{goesOn: true}, parking},
		{"tries a record later and goes on with its key", "O5", rules{passBy: true}, parking},
		{"parks a record without its key", "O6", rules{parkAlone: true}, parking},
		{"begins without the keys that are held", "O6", rules{forgetHeld: true}, parking},
		{"sets aside whatever its epoch", "O6", rules{noFence: true}, parking},
		{"writes its position whatever its epoch and the stored one", "O12", rules{noFence: true, blindWrite: true}, order},
	} {
		cases = append(cases, model.Case{
			Model: name, Variant: v.variant, Breaks: v.breaks,
			Run: check(protocol{rules: v.rules, bounds: v.bounds}, nil),
		})
	}
	return cases
}

func check(p protocol, sights []model.Sight[state]) func(context.Context) (model.Report, error) {
	m := model.Model[state]{
		Next:     p.next,
		Rest:     p.rests,
		Liveness: "O2",
		Always: []model.Promise[state]{
			{Name: "O5", Says: "first occurrences of a key arrive in order", Holds: func(s state) bool { return s.broken != brokeO5 }},
			{Name: "O6", Says: "behind a parked record nothing of its key is sent", Holds: func(s state) bool { return s.broken != brokeO6 }},
			{Name: "O2", Says: "what the position has passed is at the broker, held or dropped by people", Holds: keepsAll},
		},
		Moves: []model.Move[state]{
			{Name: "O12", Says: "the position never goes back", Holds: func(from, to state) bool { return to.pos >= from.pos }},
		},
		Sights: sights,
		Show:   show,
	}
	for _, poison := range p.poison {
		m.Start = append(m.Start, state{poison: poison, people: p.people})
	}
	return m.Check
}

func (p *protocol) next(s state, yield func(model.Step, state)) {
	for n := range p.terms {
		p.termSteps(s, n, yield)
		p.wireSteps(s, n, yield)
	}
	p.peopleSteps(s, yield)
}

func keepsAll(s state) bool {
	return before(s.pos)&^(s.logged|s.held()|s.dropped) == 0
}

// rests reports whether everything is settled and nothing needs a retry.
func (p *protocol) rests(s state) bool {
	if p.claimRows {
		return true
	}
	return s.pos == records && s.retry == 0 && s.wait&^behind(s.parked) == 0
}

func orderSights() []model.Sight[state] {
	return []model.Sight[state]{
		{Name: "two former relays have bytes under way", Seen: func(s state) bool {
			return s.epoch == 3 && s.terms[0].wire != 0 && s.terms[1].wire != 0
		}},
		{Name: "a call is under way behind one that was given up", Seen: func(s state) bool {
			return s.terms[1].wire != 0 && s.terms[1].late != 0
		}},
		{Name: "a former relay sends what is settled", Seen: func(s state) bool {
			return s.terms[0].wire&before(s.pos) != 0
		}},
	}
}

func parkingSights() []model.Sight[state] {
	return []model.Sight[state]{
		{Name: "a former relay has a record under way that is parked", Seen: func(s state) bool {
			return s.epoch == 2 && s.terms[0].wire&s.parked != 0
		}},
		{Name: "a record that was parked is at the broker, with all behind it", Seen: func(s state) bool {
			return s.people == 0 && s.poison == 0 && s.dropped == 0 && s.logged == before(records)
		}},
		{Name: "the key of a skipped record has gone on", Seen: func(s state) bool {
			return s.dropped == one(1) && s.logged&keyK == one(2)
		}},
		{Name: "two relays try the same held record", Seen: func(s state) bool {
			return s.terms[0].phase == hasHeld && s.terms[1].phase == hasHeld && s.terms[0].todo&s.terms[1].todo != 0
		}},
	}
}

func show(s state) string {
	return fmt.Sprintf("settled before %s, at the broker %s, to be tried %s, waiting %s, parked %s, dropped %s, refused by the broker %s",
		boundary(s.pos), names(s.logged), names(s.retry), names(s.wait), names(s.parked), names(s.dropped), names(s.poison))
}

func names(s set) string {
	var all []string
	for r := range uint8(records) {
		if s.has(r) {
			all = append(all, record(r))
		}
	}
	return "[" + strings.Join(all, " ") + "]"
}
