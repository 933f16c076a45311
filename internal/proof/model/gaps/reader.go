package gaps

import (
	"slices"

	"github.com/leat-go/leat/internal/proof/model"
)

// Phases of the reader.
const (
	ready   uint8 = iota
	halfway       // one of the two statements of a page was executed
	looked        // both were
)

// Promises that a step has broken.
const (
	nothing uint8 = iota
	brokeO3
	brokeO5
	brokeO10
	missed
)

// reader is the state of the relay in memory.
type reader struct {
	at    position // what was sent
	fresh numbers  // the part of the page above at
	late  numbers  // the part of the page with missing numbers
	phase uint8
	ids   [mostWriters]uint8 // by writer, the number of its row in the page; used if numbers can be given out again
	row   uint8              // 1 + the writer of the row read last, 0 if unknown
}

// state is the server, its disk, the reader, and what it has sent.
type state struct {
	database

	disk          database
	reader        reader
	sent          numbers // rows, by writer
	broken        uint8
	readerCrashes uint8 // crashes that may still come
	serverCrashes uint8
	crashed       bool
	empties       uint8 // how many more times the log may be emptied
	setBacks      uint8
	moved         bool // the log was emptied or set back
	refused       bool // the reader has ended, since the log is not the one it had read
}

type yielder func(step model.Step, to state)

const who = "reader"

// readerSteps yields the possible actions of the reader.
func (p *protocol) readerSteps(s state, yield yielder) {
	if s.refused {
		return
	}
	switch s.reader.phase {
	case ready:
		yield(p.statement(s, !p.missingFirst, halfway))
		if s.reader.at != s.stored && (p.retains || s.readerCrashes+s.serverCrashes > 0) {
			to := s
			to.stored = s.reader.at
			if p.storesLast {
				to.stored.missing = 0
			}
			yield(model.Step{Who: who, What: "stores how far it has come"}, to)
		}
	case halfway:
		yield(p.statement(s, p.missingFirst, looked))
	case looked:
		yield(p.send(s))
	}
}

// statement reads one half of a page: the new numbers, or those that were missing.
func (p *protocol) statement(s state, isNew bool, then uint8) (model.Step, state) {
	r := &s.reader
	r.phase = then
	if isNew {
		r.fresh = (s.visible() &^ upTo(r.at.last)).first(p.limit)
		s.identify(p, r.fresh)
		return model.Step{Who: who, What: "reads what is new"}, s
	}
	r.late = (s.visible() & r.at.missing).first(p.limit)
	s.identify(p, r.late)
	return model.Step{Who: who, What: "reads what was missing"}, s
}

// send sends the page that was read, once it is on the disk.
func (p *protocol) send(s state) (model.Step, state) {
	r := &s.reader
	if p.moved(&s) {
		s.reader, s.refused = reader{at: r.at}, true
		return model.Step{Who: who, What: "finds that the log is another one, and ends"}, s
	}
	fresh := r.fresh
	if !p.passing {
		fresh = fresh.first(p.limit - len(r.late.all()))
	}
	page := r.late | fresh
	r.phase, r.fresh, r.late = ready, 0, 0
	if page == 0 {
		if s.moved && s.owedBehind() {
			s.broken = missed
		}
		return model.Step{Who: who, What: "finds nothing"}, s
	}
	if s.serverCrashes > 0 && !p.noFence {
		s.disk = s.database
	}
	for _, n := range page.all() {
		if i := slices.Index(r.ids[:], n); i < 0 || s.writers[i].number == n { // otherwise the row has been deleted since
			s.deliver(n)
		}
	}
	if last := page.highest(); last > r.at.last && p.setBacks > 0 {
		r.row = uint8(slices.Index(r.ids[:], last) + 1) //nolint:gosec // few
	}
	r.at, r.ids = p.after(r.at, page), [mostWriters]uint8{}
	return model.Step{Who: who, What: "sends", On: pageName(page)}, s
}

// after returns the position after a page was sent.
func (p *protocol) after(at position, page numbers) position {
	last := max(at.last, page.highest())
	missing := (at.missing | upTo(last)&^upTo(at.last)) &^ page
	if p.forgetful {
		missing = 0
	}
	return position{last, missing}
}

// deliver records that the row with number n has arrived.
func (s *state) deliver(n uint8) {
	i, ok := s.writerOf(n)
	switch {
	case !ok && (s.closed.has(n) || s.moved): // an operator has deleted it
		return
	case !ok: // a crash has taken it back
		s.broken = brokeO3
		return
	}
	if s.sent.has(i) && !s.crashed {
		s.broken = brokeO10
	}
	for j := range uint8(mostWriters) {
		w := &s.writers[j]
		if j != i && mates(i, j) && w.end == committed && w.rank < s.writers[i].rank && !s.sent.has(j) {
			s.broken = brokeO5
		}
	}
	s.sent |= only(i)
}

// owed reports whether a committed row was not sent.
func (s *state) owed() bool {
	for i := range uint8(mostWriters) {
		if s.writers[i].end == committed && !s.sent.has(i) {
			return true
		}
	}
	return false
}

// identify remembers which writer's row was read under each number.
func (s *state) identify(p *protocol, page numbers) {
	for i := range s.writers {
		if w := &s.writers[i]; p.setBacks > 0 && w.end == committed && page.has(w.number) {
			s.reader.ids[i] = w.number
		}
	}
}

// owedBehind reports whether a committed row was not sent although the reader has passed its number.
func (s *state) owedBehind() bool {
	for i := range uint8(mostWriters) {
		if w := &s.writers[i]; w.end == committed && !s.sent.has(i) && s.reader.at.passed().has(w.number) {
			return true
		}
	}
	return false
}

// moved reports whether the reader finds that the log is not the one of its position.
func (p *protocol) moved(s *state) bool {
	r := &s.reader
	i, there := s.writerOf(r.at.last)
	return !p.noLife && s.life > 0 || !p.noNumbers && r.at.last > s.visible().highest() && s.moved ||
		!p.noRows && r.row > 0 && (there || !p.mayBeGone) && (!there || i+1 != r.row)
}

// closingSteps yields the closing of gaps. Progress never depends on it.
func (p *protocol) closingSteps(s state, yield yielder) {
	if !p.closes || s.reader.phase != ready {
		return
	}
	for _, n := range s.reader.at.missing.all() {
		if s.visible().has(n) || s.at(n) {
			continue
		}
		to := s
		if p.givesUp {
			to.reader.at.missing &^= only(n)
		} else {
			to.closed |= only(n)
		}
		yield(model.Step{Who: who, What: "closes the gap at", On: numberName(n), Outside: true}, to)
	}
}

// at reports whether an open transaction has written a row with number n.
func (s *state) at(n uint8) bool {
	for i := range s.writers {
		if w := &s.writers[i]; w.end == open && w.wrote && w.number == n {
			return true
		}
	}
	return false
}

// retentionSteps yields the deletion of settled rows, whatever their age.
func (p *protocol) retentionSteps(s state, yield yielder) {
	if !p.retains {
		return
	}
	to := s.stored.low()
	if p.passesGaps {
		to = s.stored.last
	}
	old := s.visible() & upTo(to)
	if !p.emptiesLog {
		old &^= only(s.visible().highest())
	}
	if old == 0 {
		return
	}
	s.deleted |= old
	yield(model.Step{Who: "retention", What: "deletes", On: pageName(old), Outside: true}, s)
}
