package slots

import (
	"context"
	"fmt"
	"strings"

	"github.com/leat-go/leat/internal/proof/model"
)

const title = "slot re-layout"

// Cases returns the protocol and its forbidden variants.
func Cases() []model.Case {
	split := bounds{rows: 3, from: 1, to: 2, readers: 2, changes: 1, crashes: true}
	merge := bounds{rows: 3, from: 2, to: 1, readers: 2, changes: 1, crashes: true}
	three := bounds{rows: 2, from: 2, to: 1, readers: 3, changes: 1}
	both := bounds{rows: 2, from: 2, to: 2, readers: 3}
	twice := bounds{rows: 2, from: 1, to: 2, readers: 2, changes: 2, crashes: true}
	cases := []model.Case{
		{Model: title, Variant: "one slot to two", Run: check(protocol{bounds: split}, true)},
		{Model: title, Variant: "two slots to one", Run: check(protocol{bounds: merge}, true)},
		{Model: title, Variant: "two slots to one, three relays", Run: check(protocol{bounds: three}, true)},
		{Model: title, Variant: "one slot to two and back", Run: check(protocol{bounds: twice}, false)},
	}
	for _, v := range []struct {
		variant, breaks string
		rules           rules
		bounds          bounds
	}{
		{"switches before every slot has come to the marker", "O5", rules{noDrain: true}, merge},
		{"takes the marker from wherever it stands", "O5", rules{anyMarker: true}, merge},
		{"goes on from the marker before the switch", "O5", rules{pastIt: true}, merge},
		{"begins new slots at what is committed by then", "O5", rules{fromNow: true}, split},
		{"changes the number in place, without a marker", "O5", rules{inPlace: true}, split},
		{"removes old positions under a lease that is lost", "O2", rules{tidyLost: true}, both},
	} {
		cases = append(cases, model.Case{
			Model: title, Variant: v.variant, Breaks: v.breaks, Run: check(protocol{rules: v.rules, bounds: v.bounds}, false),
		})
	}
	return cases
}

func check(p protocol, sights bool) func(context.Context) (model.Report, error) {
	start := state{slots: p.from, changes: p.changes}
	for i := range start.leases {
		start.leases[i].owner = nobody
	}
	for i := range p.from {
		start.positions[i].slots = p.from
	}
	m := model.Model[state]{
		Start:    []state{start},
		Next:     p.next,
		Rest:     func(s state) bool { return s.logged == bit(s.committed)-1 && s.next == 0 },
		Liveness: "O2",
		Always: []model.Promise[state]{
			{Name: "O5", Says: "first occurrences of a key arrive in order", Holds: func(s state) bool { return !s.broken }},
		},
		Show: show,
	}
	if sights {
		m.Sights = p.sights()
	}
	return m.Check
}

func (p *protocol) next(s state, yield func(model.Step, state)) {
	for n := range p.readers {
		p.readerSteps(s, n, yield)
	}
	p.groupSteps(s, yield)
}

func (p *protocol) sights() []model.Sight[state] {
	return []model.Sight[state]{
		{Name: "the new layout is read", Seen: func(s state) bool {
			return s.slots == p.to && s.changes == 0 && s.logged == bit(p.rows)-1 && s.positions[0].prev < s.positions[0].target
		}},
		{Name: "a relay of the old layout has a row under way in the new one", Seen: func(s state) bool {
			for i := range s.readers {
				if s.readers[i].wire != 0 && s.readers[i].slots != 0 && s.readers[i].slots != s.slots {
					return true
				}
			}
			return false
		}},
	}
}

func show(s state) string {
	all := []string{fmt.Sprintf("%d rows committed, at the broker %s, slots %d", s.committed, rows(s.logged), s.slots)}
	if s.next != 0 {
		all = append(all, fmt.Sprintf("to be %d", s.next))
	}
	for i, p := range s.positions {
		if p.slots != 0 {
			all = append(all, fmt.Sprintf("slot %d of %d at window %d, from %d to %d", i, p.slots, p.no, p.prev, p.target))
		}
	}
	return strings.Join(all, "; ")
}

func rows(set uint8) string {
	var all []string
	for r := range uint8(3) {
		if set&bit(r) != 0 {
			all = append(all, rowName(r))
		}
	}
	return "[" + strings.Join(all, " ") + "]"
}
