package slots

import "github.com/leat-go/leat/internal/proof/model"

// groupSteps yields commits, leases that expire, and the change of the number of slots.
func (p *protocol) groupSteps(s state, yield yielder) {
	if s.committed < p.rows {
		to := s
		to.committed++
		yield(model.Step{Who: "writer", What: "commits", On: rowName(s.committed), Outside: true}, to)
	}
	for i := range uint8(maxSlots) {
		if s.leases[i].live {
			to := s
			to.leases[i].live = false
			n := to.leases[i].owner
			to.readers[n].leave(&to, n)
			yield(model.Step{Who: "database", What: "lets run out the lease of", On: slotName(i)}, to)
		}
	}
	if s.changes > 0 && s.next == 0 {
		to := s
		to.changes--
		to.next = p.to
		if s.slots == p.to {
			to.next = p.from
		}
		step := model.Step{Who: "people", What: "ask for another number of slots", Outside: true}
		if p.inPlace {
			to = p.relay(to, to.positions[0])
		}
		yield(step, to)
	}
	if s.next != 0 {
		if marker, ok := p.drained(&s); ok {
			yield(model.Step{Who: "a relay", What: "completes the change"}, p.relay(s, marker))
		}
	}
}

// drained reports whether every old slot has reached the marker and its lease is free. It returns the
// marker.
func (p *protocol) drained(s *state) (marker position, ok bool) {
	come := uint8(0)
	for i := range s.slots {
		if s.positions[i].slots == s.next && !s.leases[i].live {
			come++
			marker = s.positions[i]
		}
	}
	return marker, come == s.slots || p.noDrain && come > 0
}

// relay switches to the new layout: every slot gets a row at the marker, and earlier leases become
// invalid.
func (p *protocol) relay(s state, marker position) state {
	begin := position{no: marker.no, prev: marker.target, target: marker.target, slots: s.next}
	if p.fromNow {
		begin.prev, begin.target = s.committed, s.committed
	}
	for i := range uint8(maxSlots) {
		switch {
		case i >= s.next:
			s.positions[i] = position{}
		case i >= s.slots || p.noDrain || p.inPlace:
			s.positions[i] = begin
		}
		before := s.leases[i].owner
		s.leases[i] = lease{owner: nobody}
		if before != nobody {
			s.readers[before].leave(&s, before)
		}
	}
	s.slots, s.next = s.next, 0
	return s
}
