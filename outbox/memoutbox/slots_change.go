package memoutbox

import "time"

// switchPoll is how soon a source that finds nothing to acquire looks again while the
// slots are being changed: it waits for the end of a slot, not of a lease.
const switchPoll = 100 * time.Millisecond

// start notes where a group begins that has never read. The caller holds ob.mu.
func (s *source) start(h *sharing) {
	if h.started {
		return
	}
	if h.next > 0 { // nobody has read by the other number
		h.slots, h.next = h.next, 0
	}
	h.started, h.begin = true, s.ob.outset(s.begin)
}

// change gives the group its new number of slots once every slot that it has is at the
// marker and free: from there on a key may be another slot's. The caller holds ob.mu.
func (s *source) change(h *sharing) {
	if h.next == 0 {
		return
	}
	for slot := range h.slots {
		if g := s.slotOf(slot); g.leased() || !h.ends(g.pos) {
			return
		}
	}
	h.slots, h.next = h.next, 0
	for slot := range h.slots {
		s.slotOf(slot).pos = position{from: h.marker, to: h.marker}
	}
}

// ends reports whether a slot at pos has come to its end. The caller holds ob.mu.
func (h *sharing) ends(pos position) bool {
	return h.next > 0 && pos.from >= h.marker
}

// end is where a window ends that is opened now. The caller holds ob.mu.
func (h *sharing) end(log int) int {
	if h.next > 0 {
		return min(h.marker, log)
	}
	return log
}

// leased reports whether somebody holds the lease. The caller holds ob.mu.
func (g *group) leased() bool {
	return g.held && time.Until(g.until) > 0
}
