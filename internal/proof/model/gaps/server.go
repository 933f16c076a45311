package gaps

import (
	"math/bits"

	"github.com/leat-go/leat/internal/proof/model"
)

// numbers is a set of numbers of the log, a bit each.
type numbers uint16

func only(n uint8) numbers { return 1 << n }

// upTo returns all numbers from 1 to n.
func upTo(n uint8) numbers { return only(n+1) - only(1) }

func (s numbers) has(n uint8) bool { return s&only(n) != 0 }

// lowest returns the lowest number in s, which is not empty.
func (s numbers) lowest() uint8 { return uint8(bits.TrailingZeros16(uint16(s))) } //nolint:gosec // at most 16

// highest returns the highest number in s, or 0.
func (s numbers) highest() uint8 { return uint8(max(0, bits.Len16(uint16(s))-1)) } //nolint:gosec // at most 15

// first returns the lowest n numbers in s.
func (s numbers) first(n int) numbers {
	var all numbers
	for ; n > 0 && s != 0; n-- {
		all |= only(s.lowest())
		s &^= all
	}
	return all
}

// End of a writer's transaction.
const (
	open uint8 = iota
	committed
	aborted
)

// writer is one producer's transaction, which writes one row.
type writer struct {
	number uint8 // 0 for none yet
	rank   uint8 // its place among the commits
	end    uint8
	locked bool // it has the lock of its key
	wrote  bool // its row
}

// position is the numbers that were read: all up to last except the missing ones.
type position struct {
	last    uint8
	missing numbers
}

// passed returns the numbers that were read.
func (p position) passed() numbers { return upTo(p.last) &^ p.missing }

// low returns the number up to which nothing is missing.
func (p position) low() uint8 {
	if p.missing != 0 {
		return p.missing.lowest() - 1
	}
	return p.last
}

// database is the part that a crash of the server resets to the state of the disk.
type database struct {
	writers [mostWriters]writer
	drawn   uint8   // the last number given out
	commits uint8   // commits so far
	closed  numbers // rows that close gaps
	deleted numbers // rows that retention has deleted
	stored  position
	life    uint8 // changes when the log is emptied
}

// visible returns the rows that a statement sees.
func (d *database) visible() numbers {
	all := d.closed
	for i := range d.writers {
		if d.writers[i].end == committed {
			all |= only(d.writers[i].number)
		}
	}
	return all &^ d.deleted
}

// writerOf returns the writer whose committed row has number n, if there is one.
func (d *database) writerOf(n uint8) (i uint8, ok bool) {
	for i := range uint8(mostWriters) {
		if w := &d.writers[i]; w.end == committed && w.number == n {
			return i, true
		}
	}
	return 0, false
}

// cut deletes every row with a number above n and ends open transactions. The next number is n + 1.
func (d *database) cut(n uint8) {
	for i := range d.writers {
		if w := &d.writers[i]; *w != (writer{}) && (w.number > n || w.end == open) {
			*w = writer{end: aborted}
		}
	}
	d.drawn = n
	d.closed &= upTo(n)
	d.deleted &= upTo(n)
}

// restart ends open transactions. The next number is one above the highest row.
func (d *database) restart() {
	for i := range d.writers {
		if w := &d.writers[i]; w.end == open && *w != (writer{}) {
			*w = writer{end: aborted}
		}
	}
	d.drawn = d.visible().highest()
	d.closed &^= d.deleted
	d.deleted &= upTo(d.drawn)
}

// writerSteps yields the possible actions of writer i. None of them is guaranteed to happen.
func (p *protocol) writerSteps(s state, i uint8, yield yielder) {
	w := &s.writers[i]
	if w.end != open || i == 1 && *w == (writer{}) && s.writers[0] == (writer{}) {
		return // the first two are alike: only orders in which the first begins first are searched
	}
	step := func(what, on string, change func(to *state, w *writer)) {
		to := s
		change(&to, &to.writers[i])
		yield(model.Step{Who: writerName(i), What: what, On: on, Outside: true}, to)
	}
	if !w.locked && !w.wrote && (!p.numberFirst || w.number != 0) && p.mayLock(&s, i) {
		step("takes the lock of its key", "", func(_ *state, w *writer) { w.locked = true })
	}
	if w.number == 0 && (w.locked || p.numberFirst) {
		step("draws", numberName(s.drawn+1), func(to *state, w *writer) {
			to.drawn++
			w.number = to.drawn
		})
	}
	switch {
	case w.number == 0 || !w.locked:
	case w.wrote:
		step("commits", "", func(to *state, w *writer) {
			to.commits++
			w.end, w.rank, w.locked = committed, to.commits, false
		})
	case s.closed.has(w.number):
		step("finds its number taken", "", func(_ *state, w *writer) { *w = writer{end: aborted} })
	default:
		step("writes its row", "", func(_ *state, w *writer) { w.wrote = true })
	}
	if *w != (writer{}) && i != 1 { // it is enough if two of the writers may abort
		step("aborts", "", func(_ *state, w *writer) { *w = writer{end: aborted} })
	}
}

// mayLock reports whether the lock of i's key is free.
func (p *protocol) mayLock(s *state, i uint8) bool {
	if p.noLock {
		return true
	}
	for j := range p.writers {
		if j != i && mates(i, j) && s.writers[j].locked {
			return false
		}
	}
	return true
}

// groundSteps yields an operator's mistakes: emptying the log, and setting back its counter.
func (p *protocol) groundSteps(s state, yield yielder) {
	if s.empties > 0 {
		to := s
		to.empties--
		to.moved = true
		to.life++
		to.cut(0)
		yield(model.Step{Who: "operator", What: "empties the log", Outside: true}, to)
	}
	for n := uint8(0); s.setBacks > 0 && n < s.drawn; n++ {
		to := s
		to.setBacks--
		to.moved = true
		to.cut(n)
		yield(model.Step{Who: "operator", What: "deletes what is above it, and sets the counter back to", On: numberName(n), Outside: true}, to)
	}
}

// faultSteps yields crashes, and the actions of the disk.
func (p *protocol) faultSteps(s state, yield yielder) {
	if s.readerCrashes > 0 {
		to := s
		to.readerCrashes--
		to.crashed = true
		to.reader = reader{at: s.stored}
		yield(model.Step{Who: who, What: "crashes and reads its position again", Outside: true}, to)
	}
	if s.serverCrashes == 0 {
		return
	}
	if s.disk != s.database {
		to := s
		to.disk = s.database
		yield(model.Step{Who: "disk", What: "has all that was committed", Outside: true}, to)
	}
	s.serverCrashes--
	s.crashed = true
	s.database = s.disk
	s.disk = database{}
	s.restart()
	for i := range p.writers {
		if s.sent.has(i) && s.writers[i].end != committed {
			s.broken = brokeO3
		}
	}
	if !p.fromMemory {
		s.reader = reader{at: s.stored}
	}
	yield(model.Step{Who: "server", What: "crashes and recovers", Outside: true}, s)
}
