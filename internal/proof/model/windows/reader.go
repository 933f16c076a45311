package windows

import "github.com/leat-go/leat/internal/proof/model"

// Phases of the reader.
const (
	reading uint8 = iota
	probed        // there may be something new
	looked        // the next window's snapshot is taken
	drawn         // and its xid is drawn
	new0          // a new group begins now: nothing has been read for it
	new1          // the sequence was read
	new2          // the marking transaction is committed
	new3          // and the sequence read again
)

// Promises that a step has broken.
const (
	nothing uint8 = iota
	brokeO5
	brokeO10
	missed
)

// reader is the state of the relay in memory.
type reader struct {
	window window
	next   snapshot // target of the window that is being opened
	phase  uint8
	read   uint8 // rows of the window up to this number were read
	whole  bool
	f      uint8 // the sequence as the probe read it
	own    uint8 // xid of the window that is being opened
}

// enter makes w the reader's window.
func (r *reader) enter(w window) {
	*r = reader{window: w, read: w.last, whole: w.empty()}
}

// state is the server, its disk, the reader, and what it has delivered.
type state struct {
	database

	disk          database
	reader        reader
	delivered     uint8 // rows, one bit each
	broken        uint8
	readerCrashes uint8 // crashes that may still come
	serverCrashes uint8
	setBacks      uint8 // how many more times the sequence may be set back
	crashed       bool
	refused       bool     // the reader has ended, since the sequence was set back
	begin         snapshot // the group does not want rows that it sees
}

type yielder func(step model.Step, to state)

const who = "reader"

// readerSteps yields the possible actions of the reader.
func (p *protocol) readerSteps(s state, yield yielder) {
	if s.refused {
		return
	}
	switch s.reader.phase {
	case reading:
		switch {
		case s.reader.whole:
			yield(p.probe(s))
		case p.pagewise:
			yield(p.page(s))
		default:
			yield(p.readAll(s))
		}
		if s.readerCrashes+s.serverCrashes > 0 && s.reader.read > s.window.last {
			to := s
			to.window.last = s.reader.read
			yield(model.Step{Who: who, What: "stores how far it has come"}, to)
		}
	case probed:
		if p.setBacks > 0 && !p.noBack && s.wentBack() {
			yield(s.refuse("finds a row that the floors forbid, and ends"))
			return
		}
		to := s
		to.reader.next = to.now()
		if p.noXip {
			to.reader.next.xip = 0
		}
		to.reader.phase = looked
		yield(model.Step{Who: who, What: "takes the next window's snapshot"}, to)
		if p.raises && s.window.sourceFloor < s.reader.f && s.nextXid < lastXid {
			yield(model.Step{Who: who, What: "raises the stored number"}, raise(s))
		}
	case looked:
		if s.nextXid < lastXid {
			s.reader.own = s.drawXid()
			s.reader.phase = drawn
			yield(model.Step{Who: who, What: "draws the window's", On: xidName(s.reader.own)}, s)
		}
	case drawn:
		yield(model.Step{Who: who, What: "commits the window"}, p.open(s))
	default:
		p.beginSteps(s, yield)
	}
}

// beginSteps yields the steps of a new group that begins now.
func (p *protocol) beginSteps(s state, yield yielder) {
	r := &s.reader
	switch r.phase {
	case new0:
		r.phase, r.f = new1, s.seq
		if p.noMark {
			r.phase = new2
		}
		yield(model.Step{Who: who, What: "reads the sequence for a new group"}, s)
	case new1:
		r.phase = new2
		s.complete(s.drawXid())
		yield(model.Step{Who: who, What: "commits a transaction that does nothing"}, s)
	case new2:
		r.phase, r.read = new3, s.seq
		yield(model.Step{Who: who, What: "reads the sequence again"}, s)
	case new3:
		r.phase, r.next = looked, s.now()
		yield(model.Step{Who: who, What: "takes the snapshot that the group begins at"}, s)
	}
}

// probe checks whether there may be new rows.
func (p *protocol) probe(s state) (model.Step, state) {
	r, w := &s.reader, &s.reader.window
	ended := w.target.xip&^s.running != 0
	gap := w.sourceFloor != w.nextFloor && w.openedBy > w.target.xmax && !p.noGap
	if s.seq < w.sourceFloor {
		return s.refuse("finds the sequence behind its position, and ends")
	}
	unseen := p.setBacks > 0 && !p.noUnseen && s.any(func(o row) bool { return o.xid >= w.target.xmax })
	if s.seq != w.sourceFloor || ended || gap || unseen {
		r.phase, r.f = probed, s.seq
		return model.Step{Who: who, What: "probes: there may be more"}, s
	}
	if s.owed() {
		s.broken = missed
	}
	return model.Step{Who: who, What: "probes: nothing new"}, s
}

// wentBack reports whether a row proves that the sequence was set back behind the window.
func (s *state) wentBack() bool {
	w := &s.window
	return s.any(func(o row) bool {
		return o.xid > w.openedBy && o.seq <= w.sourceFloor ||
			o.xid >= w.target.xmax && o.xid <= w.openedBy && o.seq <= w.nextFloor
	})
}

// any reports whether f holds for a committed row.
func (s *state) any(f func(o row) bool) bool {
	found := false
	s.rows(func(o row) bool {
		found = f(o)
		return !found
	})
	return found
}

// refuse ends the reader for good.
func (s *state) refuse(what string) (model.Step, state) {
	after := *s
	after.reader.enter(after.window)
	after.refused = true
	return model.Step{Who: who, What: what}, after
}

// owed reports whether a committed row was not delivered.
func (s *state) owed() bool {
	owed := false
	s.rows(func(r row) bool {
		owed = s.delivered&r.bit() == 0 && !s.begin.sees(r.xid)
		return !owed
	})
	return owed
}

// raise stores the number read by the probe as that of the newest window, in a separate transaction.
func raise(s state) state {
	xid := s.drawXid()
	s.window.sourceFloor, s.window.openedBy = s.reader.f, xid
	s.complete(xid)
	return s
}

// open commits the window whose snapshot was taken, and enters it.
func (p *protocol) open(s state) state {
	before, r := s.window, &s.reader
	if before.openedBy == 0 { // the first window of a new group
		s.window = window{prev: r.next, target: r.next, floor: r.f, nextFloor: r.f, sourceFloor: r.read, openedBy: r.own}
		s.begin = r.next
		s.complete(r.own)
		r.enter(s.window)
		return s
	}
	if p.fromMemory {
		before = r.window
	}
	f, floor, nextFloor := r.f, before.nextFloor, before.sourceFloor
	if p.innerFloor {
		f = s.seq
	}
	if p.lateFloor {
		floor = before.sourceFloor
	}
	s.window = window{
		prev: before.target, target: r.next,
		floor: floor, nextFloor: nextFloor, sourceFloor: f, openedBy: r.own,
	}
	s.complete(r.own)
	r.enter(s.window)
	return s
}

// readAll reads the window to its end, page after page, in one step: its contents were decided when
// its snapshot was taken, so nothing in between could make a difference.
func (p *protocol) readAll(s state) (model.Step, state) {
	for !s.reader.whole {
		_, s = p.page(s)
	}
	return model.Step{Who: who, What: "delivers what is in the window"}, s
}

// page reads the next page of the window and delivers it.
func (p *protocol) page(s state) (model.Step, state) {
	r, w := &s.reader, &s.reader.window
	if p.idCursor || p.xminHorizon {
		return p.plainPage(s)
	}
	if r.read < w.floor {
		if step, found := p.early(&s); found {
			return step, s
		}
		r.read = w.floor
	}
	page, full := p.find(&s, func(o row) bool {
		return o.seq > r.read && w.target.sees(o.xid) && !w.prev.sees(o.xid)
	})
	r.whole = !full || p.fullPage
	if len(page) == 0 {
		return model.Step{Who: who, What: "finds the end of the window"}, s
	}
	s.deliver(page)
	r.read = page[len(page)-1].seq
	return model.Step{Who: who, What: "delivers", On: rowName(page[0])}, s
}

// early delivers a page of rows at or below the floor: those of transactions that were open when
// the previous window was opened, and have ended by the time of this one.
func (p *protocol) early(s *state) (step model.Step, found bool) {
	r, w := &s.reader, &s.reader.window
	if !w.hasEarly() || p.noPhaseB {
		return step, false
	}
	page, full := p.find(s, func(o row) bool {
		return w.prev.xip&bit(o.xid) != 0 && w.target.xip&bit(o.xid) == 0 && o.seq > r.read && o.seq <= w.floor
	})
	if len(page) == 0 {
		return step, false
	}
	s.deliver(page)
	r.read = w.floor
	if full && !p.fullPage {
		r.read = page[len(page)-1].seq
	}
	return model.Step{Who: who, What: "delivers below the floor", On: rowName(page[0])}, true
}

// plainPage reads a page of the variants that have no windows.
func (p *protocol) plainPage(s state) (model.Step, state) {
	r, horizon := &s.reader, s.xmin()
	page, _ := p.find(&s, func(o row) bool {
		if p.xminHorizon {
			return o.xid < horizon && s.delivered&o.bit() == 0
		}
		return o.seq > r.read
	})
	if len(page) == 0 {
		return model.Step{Who: who, What: "finds nothing"}, s
	}
	s.deliver(page)
	r.read = max(r.read, page[len(page)-1].seq)
	return model.Step{Who: who, What: "delivers", On: rowName(page[0])}, s
}

// find returns the first matching rows, and whether there may be more.
func (p *protocol) find(s *state, wanted func(o row) bool) (page []row, full bool) {
	s.rows(func(o row) bool {
		if wanted(o) {
			page = append(page, o)
		}
		return len(page) < p.limit || p.byXid
	})
	if p.byXid {
		sortByXid(page)
		page = page[:min(len(page), p.limit)]
	}
	return page, len(page) == p.limit
}

func sortByXid(page []row) {
	for i := range page {
		for j := i; j > 0 && page[j].xid < page[j-1].xid; j-- {
			page[j], page[j-1] = page[j-1], page[j]
		}
	}
}

// deliver records that rows have arrived, in their order.
func (s *state) deliver(page []row) {
	for _, o := range page {
		if s.delivered&o.bit() != 0 && !s.crashed {
			s.broken = brokeO10
		}
		for i := range uint8(writers) {
			v := &s.writers[i]
			if i == o.writer || !mates(i, o.writer) || v.end != committed || v.rank > s.writers[o.writer].rank {
				continue
			}
			if s.delivered&(row{writer: i}).bit() == 0 && !s.begin.sees(v.xid) {
				s.broken = brokeO5
			}
		}
		s.delivered |= o.bit()
	}
}
