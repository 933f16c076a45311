package slots

import "github.com/leat-go/leat/internal/proof/model"

type yielder func(step model.Step, to state)

func name(n uint8) string { return [...]string{"relay 1", "relay 2", "relay 3"}[n] }

func rowName(r uint8) string { return [...]string{"j1", "j2", "k1"}[r] }

func slotName(n uint8) string { return [...]string{"slot 0", "slot 1"}[n] }

// readerSteps yields the possible actions of reader n.
func (p *protocol) readerSteps(s state, n uint8, yield yielder) {
	r := s.readers[n]
	switch r.phase {
	case off:
		p.claim(s, n, yield)
		return
	case reading:
		p.read(s, n, yield)
	case acked:
		yield(p.settle(s, n))
	}
	if r.wire != 0 {
		to := s
		one := &to.readers[n]
		to.arrive(r.wire - 1)
		one.wire = 0
		if one.phase == sending {
			one.phase = acked
		} else {
			one.leave(&to, n)
		}
		yield(model.Step{Who: "broker", What: "appends", On: rowName(r.wire - 1)}, to)
	}
	if r.phase == over {
		return
	}
	s.readers[n].phase = over
	s.readers[n].leave(&s, n)
	if s.leases[r.slot].owner != n {
		yield(lost(n), s)
		return
	}
	if p.crashes {
		yield(model.Step{Who: name(n), What: "crashes", Outside: true}, s)
	}
}

// lost is the step in which a reader learns that it has lost its lease: the lease cannot be renewed, or a
// write is refused.
func lost(n uint8) model.Step {
	return model.Step{Who: name(n), What: "hears that its lease is another's"}
}

// leave frees reader n for reuse once it has ended and nothing refers to it.
func (r *reader) leave(s *state, n uint8) {
	if r.phase != over {
		return
	}
	*r = reader{phase: over, wire: r.wire}
	owner := false
	for i := range s.leases {
		if s.leases[i].owner == n && !s.leases[i].live {
			s.leases[i].owner = nobody // the reader will not renew it
		}
		owner = owner || s.leases[i].owner == n
	}
	if r.wire == 0 && !owner {
		*r = reader{}
	}
}

// claim takes any slot whose lease is free or has expired and that has not reached the marker, and reads
// its position.
func (p *protocol) claim(s state, n uint8, yield yielder) {
	for i := range s.slots {
		if s.leases[i].owner == n || s.leases[i].live || s.next != 0 && s.positions[i].slots == s.next {
			continue
		}
		to := s
		before := to.leases[i].owner
		to.leases[i] = lease{owner: n, live: true}
		if before != nobody {
			to.readers[before].leave(&to, before)
		}
		to.readers[n] = reader{phase: reading, slot: i, slots: s.slots, at: to.positions[i]}
		yield(model.Step{Who: name(n), What: "takes the lease of", On: slotName(i)}, to)
	}
}

// read sends the next row of the window, goes to the next window, or stops at the marker.
func (p *protocol) read(s state, n uint8, yield yielder) {
	r := &s.readers[n]
	if r.at.slots != r.slots && !p.pastIt {
		if owns(&s, n) {
			s.leases[r.slot] = lease{owner: nobody}
		}
		r.phase = over
		r.leave(&s, n)
		yield(model.Step{Who: name(n), What: "stops at the marker"}, s)
		return
	}
	if row, ok := r.nextRow(); ok {
		r.phase, r.wire = sending, row+1
		yield(model.Step{Who: name(n), What: "sends", On: rowName(row)}, s)
		return
	}
	if s.committed == r.at.target && s.next == 0 {
		return
	}
	if !owns(&s, n) {
		if p.tidyLost && p.farBehind(&s, r) {
			s.positions[r.slot] = position{}
		}
		r.phase = over
		r.leave(&s, n)
		yield(lost(n), s)
		return
	}
	if to, what, ok := p.follow(s, n); ok {
		yield(model.Step{Who: name(n), What: what}, to)
	}
}

// owns reports whether n has the lease of the slot and is at the slot's position.
func owns(s *state, n uint8) bool {
	r := &s.readers[n]
	return s.leases[r.slot].owner == n && s.positions[r.slot].no == r.at.no
}

// farBehind reports whether another slot's window has outdated the newest position of the reader's slot.
func (p *protocol) farBehind(s *state, r *reader) bool {
	_, found := p.ahead(s, s.positions[r.slot])
	return found
}

// settle stores that the row that arrived is settled.
func (p *protocol) settle(s state, n uint8) (model.Step, state) {
	r := &s.readers[n]
	if !owns(&s, n) {
		r.phase = over
		r.leave(&s, n)
		return lost(n), s
	}
	row, _ := r.nextRow()
	r.at.last, r.phase = row+1, reading
	s.positions[r.slot].last = row + 1
	return model.Step{Who: name(n), What: "settles", On: rowName(row)}, s
}

// follow takes the next window of the chain, as the statement of that name does: a window that
// another slot has set, a marker, or a window that it opens.
func (p *protocol) follow(s state, n uint8) (state, string, bool) {
	r := &s.readers[n]
	own := s.positions[r.slot]
	if s.slots != own.slots && !p.pastIt {
		return s, "", false
	}
	next := position{no: own.no + 1, prev: own.target, target: s.committed, slots: own.slots}
	what := "opens a window"
	no, found := p.ahead(&s, own)
	switch {
	case found && s.chain[no].slots != own.slots && s.chain[no].target != own.target && !p.anyMarker:
		return s, "", false
	case found:
		next.no, next.target, next.slots = no, s.chain[no].target, s.chain[no].slots
		what = "follows to a window of another slot"
	case s.next != 0 && own.slots != s.next:
		next.target, next.slots = own.target, s.next
		what = "sets the marker"
	}
	if next.no >= maxWindows {
		return s, "", false
	}
	if !found {
		s.chain[next.no] = lead{next.target, next.slots}
	}
	s.positions[r.slot] = next
	r.at = next
	return s, what, true
}
