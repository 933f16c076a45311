package windows

import "github.com/leat-go/leat/internal/proof/model"

func writerName(i uint8) string { return [...]string{"writer 1", "writer 2", "writer 3"}[i] }

func rowName(o row) string {
	return [...]string{"1's row", "", "2's row", "2's second row", "3's row", "3's second row"}[o.writer*2+o.nth]
}

func xidName(xid uint8) string {
	return [...]string{
		"xid 0", "xid 1", "xid 2", "xid 3", "xid 4", "xid 5", "xid 6", "xid 7",
		"xid 8", "xid 9", "xid 10", "xid 11", "xid 12", "xid 13", "xid 14", "xid 15",
	}[xid]
}

func number(n uint8) string {
	return [...]string{"number 0", "number 1", "number 2", "number 3", "number 4", "number 5", "number 6", "number 7"}[n]
}

// writerSteps yields the possible actions of writer i. None of them is guaranteed to happen.
func (p *protocol) writerSteps(s state, i uint8, yield yielder) {
	w := &s.writers[i]
	if w.end != open || i == 1 && *w == (writer{}) && s.writers[0] == (writer{}) {
		return // the first two are alike: only orders in which the first begins first are searched
	}
	if !w.locked && i < 2 && p.mayLock(&s, i) { // only the first two share a key and need its lock
		to := s
		to.writers[i].locked = true
		yield(model.Step{Who: writerName(i), What: "takes the lock of its key", Outside: true}, to)
	}
	if w.xid == 0 && s.nextXid < lastXid && (!p.seqFirst || p.drawnAll(w, i)) {
		to := s
		to.writers[i].xid = to.drawXid()
		yield(model.Step{Who: writerName(i), What: "draws", On: xidName(to.writers[i].xid), Outside: true}, to)
	}
	if (w.locked || i > 1) && (w.xid != 0 || p.seqFirst) && !p.drawnAll(w, i) {
		to := s
		to.seq++
		v := &to.writers[i]
		if s.taken(to.seq) { // possible once the sequence was set back
			to.complete(w.xid)
			*v = writer{end: aborted}
			yield(model.Step{Who: writerName(i), What: "fails, another row has", On: number(to.seq), Outside: true}, to)
			return
		}
		if v.first == 0 {
			v.first = to.seq
		} else {
			v.second = to.seq
		}
		yield(model.Step{Who: writerName(i), What: "draws", On: number(to.seq), Outside: true}, to)
	}
	if w.xid == 0 {
		return
	}
	if p.drawnAll(w, i) {
		yield(model.Step{Who: writerName(i), What: "commits", Outside: true}, p.commit(s, i))
	}
	if i+1 < p.writers {
		return // it is enough if one writer may abort
	}
	to := s
	to.complete(w.xid)
	to.writers[i] = writer{end: aborted}
	yield(model.Step{Who: writerName(i), What: "aborts", Outside: true}, to)
}

// mayLock reports whether the lock of i's key is free.
func (p *protocol) mayLock(s *state, i uint8) bool {
	if p.noLock {
		return true
	}
	for j := range p.writers {
		if j != i && mates(i, j) && s.writers[j].locked && s.writers[j].end == open {
			return false
		}
	}
	return true
}

func (p *protocol) drawnAll(w *writer, i uint8) bool {
	return w.first != 0 && (w.second != 0 || p.rowsOf(i) == 1)
}

// commit makes i's rows visible, once they and all earlier ones are on the disk.
func (p *protocol) commit(s state, i uint8) state {
	w := &s.writers[i]
	s.commits++
	w.end, w.rank, w.locked = committed, s.commits, false
	s.complete(w.xid)
	if s.serverCrashes > 0 {
		s.disk = s.database
	}
	return s
}

// faultSteps yields crashes, the actions of the disk, and an operator's mistake: setting back the
// sequence.
func (p *protocol) faultSteps(s state, yield yielder) {
	if newest := s.newest(); s.setBacks > 0 && newest < s.seq && !s.keyOpen() {
		to := s
		to.setBacks--
		to.seq = newest
		yield(model.Step{Who: "operator", What: "sets the sequence back to", On: number(newest), Outside: true}, to)
	}
	if s.readerCrashes > 0 {
		to := s
		to.readerCrashes--
		to.crashed = true
		to.complete(s.reader.own)
		to.reader.enter(to.window)
		yield(model.Step{Who: who, What: "crashes and reads its position again", Outside: true}, to)
	}
	if s.serverCrashes == 0 {
		return
	}
	if s.disk != s.database {
		to := s
		to.disk = s.database
		yield(model.Step{Who: "disk", What: "has all that was written", Outside: true}, to)
	}
	s.serverCrashes--
	s.crashed = true
	s.database = s.disk
	s.disk = database{}
	s.restart()
	if p.fromMemory {
		if s.reader.phase != reading { // the server has forgotten the statement
			s.reader.phase, s.reader.next, s.reader.own = probed, snapshot{}, 0
		}
	} else {
		s.reader.enter(s.window)
	}
	yield(model.Step{Who: "server", What: "crashes and recovers", Outside: true}, s)
}

// keyOpen reports whether an open transaction has a number and shares its key with another. If the
// sequence is set back then, the order of that key is not promised.
func (s *state) keyOpen() bool {
	for i := range s.writers[:2] {
		if w := &s.writers[i]; w.end == open && w.first != 0 {
			return true
		}
	}
	return false
}
