package gaps

import (
	"context"

	"github.com/leat-go/leat/internal/proof/model"
)

const name = "gap cursor"

// Cases returns the protocol and its forbidden variants.
func Cases() []model.Case {
	plain := bounds{writers: 3, limit: 3}
	small := bounds{writers: 4, limit: 1}
	closes := bounds{writers: 3, limit: 3, closes: true, readerCrashes: 1}
	retains := bounds{writers: 3, limit: 3, closes: true, retains: true}
	crashes := bounds{writers: 3, limit: 1, closes: true, retains: true, readerCrashes: 1, serverCrashes: 1}
	empties := bounds{writers: 3, limit: 3, readerCrashes: 1, empties: 1}
	setBacks := bounds{writers: 3, limit: 3, setBacks: 1}
	cases := []model.Case{
		{Model: name, Variant: "pages of three", Run: check(protocol{bounds: plain})},
		{Model: name, Variant: "four writers, pages of one", Run: check(protocol{bounds: small})},
		{Model: name, Variant: "gaps that are closed, and a reader that crashes", Run: check(protocol{bounds: closes})},
		{Model: name, Variant: "retention", Run: check(protocol{bounds: retains})},
		{Model: name, Variant: "all of these, and a server that crashes", Run: check(protocol{bounds: crashes})},
		{Model: name, Variant: "a log that is emptied", Run: check(protocol{bounds: empties})},
		{Model: name, Variant: "a counter that is set back", Run: check(protocol{bounds: setBacks})},
	}
	for _, v := range []struct {
		variant, breaks string
		rules           rules
		bounds          bounds
	}{
		{"reads above the last number (id cursor)", "O2", rules{forgetful: true}, plain},
		{"stores the last number alone", "O2", rules{storesLast: true}, closes},
		{"reads what was missing first", "O5", rules{missingFirst: true}, plain},
		{"lets what is new pass what was missing", "O5", rules{passing: true}, small},
		{"sends what is not on the disk", "O3", rules{noFence: true}, crashes},
		{"sends what was read before a crash of the server", "O3", rules{fromMemory: true}, crashes},
		{"gives up a gap that no transaction is at", "O2", rules{givesUp: true}, closes},
		{"retention passes gaps", "O2", rules{passesGaps: true}, retains},
		{"retention deletes the newest row", "O2", rules{emptiesLog: true}, crashes},
		{"reads a log of another life", "O2", rules{noLife: true}, empties},
		{"reads a log whose numbers went back", "O2", rules{noNumbers: true, mayBeGone: true}, setBacks},
		{"reads a log that has given out numbers again", "O2", rules{noRows: true}, setBacks},
		{"reads on although the row that it has read last is missing", "O2", rules{mayBeGone: true}, setBacks},
		{"writers draw the number before they have the lock", "O5", rules{numberFirst: true}, plain},
		{"writers of a key do not wait for one another", "O5", rules{noLock: true}, plain},
	} {
		cases = append(cases, model.Case{
			Model: name, Variant: v.variant, Breaks: v.breaks, Run: check(protocol{rules: v.rules, bounds: v.bounds}),
		})
	}
	return cases
}

func check(p protocol) func(context.Context) (model.Report, error) {
	m := model.Model[state]{
		Start:    []state{{readerCrashes: p.readerCrashes, serverCrashes: p.serverCrashes, empties: p.empties, setBacks: p.setBacks}},
		Next:     p.next,
		Rest:     func(s state) bool { return !s.owed() || s.refused },
		Liveness: "O11",
		Always: []model.Promise[state]{
			{Name: "O3", Says: "what was sent has committed for good", Holds: func(s state) bool { return s.broken != brokeO3 }},
			{Name: "O5", Says: "rows of a key are sent in the order of their commits", Holds: func(s state) bool { return s.broken != brokeO5 }},
			{Name: "O10", Says: "without a crash no row is sent twice", Holds: func(s state) bool { return s.broken != brokeO10 }},
			{Name: "O2", Says: "a page that finds nothing has missed nothing", Holds: func(s state) bool { return s.broken != missed }},
			{Name: "O2", Says: "what was passed, or deleted, was sent", Holds: passesNone},
		},
		Sights: p.sights(),
		Show:   show,
	}
	return m.Check
}

func (p *protocol) next(s state, yield func(model.Step, state)) {
	for i := range p.writers {
		p.writerSteps(s, i, yield)
	}
	p.readerSteps(s, yield)
	p.closingSteps(s, yield)
	p.retentionSteps(s, yield)
	p.groundSteps(s, yield)
	p.faultSteps(s, yield)
}

// passesNone reports whether the reader passes only rows that were sent: a row that neither the reader nor
// its successor will look for must have arrived.
func passesNone(s state) bool {
	if s.moved {
		return true // the position is invalid; send itself checks whether anything was missed
	}
	for i := range uint8(mostWriters) {
		w := &s.writers[i]
		gone := s.stored.passed() | s.reader.at.passed() | s.deleted
		if w.end == committed && gone.has(w.number) && !s.sent.has(i) {
			return false
		}
	}
	return true
}

func (p *protocol) sights() []model.Sight[state] {
	sights := []model.Sight[state]{
		{Name: "a page with what was missing and with what is new", Seen: func(s state) bool {
			return s.reader.phase == looked && s.reader.late != 0 && s.reader.fresh != 0
		}},
		{Name: "a commit between the two statements of a page", Seen: func(s state) bool {
			return s.reader.phase == halfway && s.visible()&s.reader.at.missing != 0 && s.visible()&^upTo(s.reader.at.last) != s.reader.fresh
		}},
		{Name: "all rows are sent", Seen: func(s state) bool { return s.commits == p.writers && !s.owed() }},
	}
	if p.closes {
		sights = append(sights, model.Sight[state]{Name: "a producer comes late to a number that was closed", Seen: func(s state) bool {
			w := &s.writers[2]
			return w.end == open && !w.wrote && s.closed.has(w.number)
		}})
	}
	if p.retains {
		sights = append(sights, model.Sight[state]{Name: "a row was deleted, and another one is open", Seen: func(s state) bool {
			return s.deleted != 0 && s.writers[1].wrote && s.writers[1].end == open
		}})
	}
	if p.empties+p.setBacks > 0 {
		sights = append(sights, model.Sight[state]{Name: "a log that has come as far as it was is refused", Seen: func(s state) bool {
			return s.refused && s.reader.at.last > 0 && s.drawn >= s.reader.at.last && s.owed()
		}})
	}
	if p.serverCrashes > 0 {
		sights = append(sights, model.Sight[state]{Name: "a number was given out again", Seen: func(s state) bool {
			return s.crashed && s.serverCrashes == 0 && s.writers[0].end == aborted && s.sent != 0 && s.drawn > 1
		}})
	}
	return sights
}
