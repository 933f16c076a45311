package memoutbox

import "time"

// switchPoll is how soon a source that finds nothing to acquire tries again while the slots are
// being changed: it waits for the end of a slot, not of a lease.
const switchPoll = 100 * time.Millisecond

// start records where a new group begins. The caller holds ob.mu.
func (s *source) start(h *sharing) {
	if h.started {
		return
	}
	if h.next > 0 { // nothing has been read with the other number
		h.slots, h.next = h.next, 0
	}
	h.started, h.begin = true, s.ob.outset(s.begin)
}

// change gives the group its new number of slots once all present slots are at the marker and
// free: from there on a key may belong to another slot. The caller holds ob.mu.
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

// ends reports whether a slot at pos has ended. The caller holds ob.mu.
func (h *sharing) ends(pos position) bool {
	return h.next > 0 && pos.from >= h.marker
}

// end is where a window that is opened now ends. The caller holds ob.mu.
func (h *sharing) end(log int) int {
	if h.next > 0 {
		return min(h.marker, log)
	}
	return log
}

// leased reports whether the lease is held. The caller holds ob.mu.
func (g *group) leased() bool {
	return g.held && time.Until(g.until) > 0
}
