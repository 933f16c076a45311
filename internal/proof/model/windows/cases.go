package windows

import (
	"context"

	"github.com/leat-go/leat/internal/proof/model"
)

const name = "window cursor"

// Cases returns the protocol and its forbidden variants.
func Cases() []model.Case {
	plain := bounds{writers: 3, limit: 1}
	twoRows := bounds{writers: 2, two: true, limit: 1, raises: true}
	pagewise := bounds{writers: 2, two: true, limit: 1, pagewise: true}
	crashes := bounds{writers: 2, limit: 1, pagewise: true, readerCrashes: 1, serverCrashes: 1}
	begins := bounds{writers: 2, limit: 1, begins: true}
	setBack := bounds{writers: 3, limit: 1, setBacks: 1}
	naive := bounds{writers: 3, limit: 1, pagewise: true}
	onePage := bounds{writers: 3, limit: 3}
	cases := []model.Case{
		{Model: name, Variant: "three writers", Run: check(protocol{bounds: plain})},
		{Model: name, Variant: "two writers, one of two rows, raised floors", Run: check(protocol{bounds: twoRows})},
		{Model: name, Variant: "two writers, one of two rows, page by page", Run: check(protocol{bounds: pagewise})},
		{Model: name, Variant: "two writers, crashes of reader and server", Run: check(protocol{bounds: crashes})},
		{Model: name, Variant: "two writers, and a group that begins now", Run: check(protocol{bounds: begins})},
		{Model: name, Variant: "three writers, and a sequence that is set back", Run: check(protocol{bounds: setBack})},
	}
	for _, v := range []struct {
		variant, breaks string
		rules           rules
		bounds          bounds
	}{
		{"reads above the last number (id cursor)", "O2", rules{idCursor: true}, naive},
		{"orders by xid", "O5", rules{byXid: true}, onePage},
		{"waits for the xmin horizon", "O11", rules{xminHorizon: true}, pagewise},
		{"begins a window one floor later", "O2", rules{lateFloor: true}, plain},
		{"reads the sequence after drawing its xid", "O2", rules{innerFloor: true}, plain},
		{"probes without the gap behind xmax", "O2", rules{noGap: true}, plain},
		{"takes a snapshot on a standby", "O2", rules{noXip: true}, plain},
		{"ends a phase on a full page", "O2", rules{fullPage: true}, twoRows},
		{"looks at nothing below the floor", "O2", rules{noPhaseB: true}, plain},
		{"begins a group without a transaction in between", "O2", rules{noMark: true}, begins},
		{"goes on from memory after a crash of the server", "O2", rules{fromMemory: true}, crashes},
		{"opens windows whatever numbers were given out again", "O2", rules{noBack: true}, setBack},
		{"takes a sequence that stands where it stood for one that stood still", "O2", rules{noUnseen: true}, setBack},
		{"writers draw the number before the xid", "O2", rules{seqFirst: true}, plain},
		{"writers of a key do not wait for one another", "O5", rules{noLock: true}, plain},
	} {
		cases = append(cases, model.Case{
			Model: name, Variant: v.variant, Breaks: v.breaks, Run: check(protocol{rules: v.rules, bounds: v.bounds}),
		})
	}
	return cases
}

func check(p protocol) func(context.Context) (model.Report, error) {
	start := database{nextXid: 2, latest: 1}
	nobody := snapshot{xmax: 1}
	start.window = window{prev: nobody, target: nobody, openedBy: 1}
	s := state{database: start, readerCrashes: p.readerCrashes, serverCrashes: p.serverCrashes, setBacks: p.setBacks}
	if p.serverCrashes > 0 {
		s.disk = start
	}
	s.reader.enter(start.window)
	s.reader.whole = !p.idCursor && !p.xminHorizon
	s.begin = nobody
	if p.begins {
		s.window, s.reader = window{}, reader{phase: new0}
	}
	m := model.Model[state]{
		Start:    []state{s},
		Next:     p.next,
		Rest:     func(s state) bool { return !s.owed() || s.refused },
		Liveness: "O11",
		Always: []model.Promise[state]{
			{Name: "O5", Says: "rows of a key are delivered in the order of their commits", Holds: func(s state) bool { return s.broken != brokeO5 }},
			{Name: "O10", Says: "without a crash no row is delivered twice", Holds: func(s state) bool { return s.broken != brokeO10 }},
			{Name: "O2", Says: "a probe that finds nothing new has missed nothing", Holds: func(s state) bool { return s.broken != missed }},
			{Name: "O2", Says: "what was passed was delivered", Holds: p.passesNone},
		},
		Show: show,
	}
	m.Sights = p.sights()
	return m.Check
}

func (p *protocol) next(s state, yield func(model.Step, state)) {
	for i := range p.writers {
		p.writerSteps(s, i, yield)
	}
	p.readerSteps(s, yield)
	p.faultSteps(s, yield)
}

// passesNone reports whether every row of a finished window was delivered.
func (p *protocol) passesNone(s state) bool {
	lost := false
	s.rows(func(o row) bool {
		passed := s.reader.phase != reading && s.window.openedBy != 0 && s.reader.window.target.sees(o.xid)
		if p.idCursor {
			passed = o.seq <= s.reader.read
		}
		lost = passed && s.delivered&o.bit() == 0 && !s.begin.sees(o.xid)
		return !lost
	})
	return !lost
}

func (p *protocol) sights() []model.Sight[state] {
	sights := []model.Sight[state]{
		{Name: "a window with rows below its floor", Seen: func(s state) bool {
			return s.reader.window.hasEarly() && s.reader.read > 0 && s.reader.read <= s.reader.window.floor
		}},
		{Name: "a row of a transaction between xmax and the window's own xid", Seen: func(s state) bool {
			w := &s.writers[0]
			return w.end == committed && w.xid >= s.reader.window.target.xmax && w.xid < s.reader.window.openedBy
		}},
		{Name: "all rows are delivered", Seen: func(s state) bool { return s.commits == p.writers && !s.owed() }},
	}
	if p.begins {
		sights = sights[1:] // the sequence was read before the group began, so rows below the floor are rare
		sights = append(sights, model.Sight[state]{Name: "a row that the group does not want", Seen: func(s state) bool {
			return s.writers[0].end == committed && s.window.openedBy != 0 && s.begin.sees(s.writers[0].xid)
		}})
	}
	if p.setBacks > 0 {
		sights = append(sights, model.Sight[state]{Name: "a sequence that has passed where it was is refused", Seen: func(s state) bool {
			return s.refused && s.seq >= s.window.sourceFloor
		}})
	}
	if p.serverCrashes > 0 {
		sights = append(sights, model.Sight[state]{Name: "a window that the server has forgotten was read", Seen: func(s state) bool {
			return s.serverCrashes == 0 && s.delivered != 0 && s.window.openedBy == 1
		}})
	}
	return sights
}
