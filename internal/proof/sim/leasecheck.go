package sim

import "time"

// holding is the state of one message's lease in the history.
type holding struct {
	token string // "" if the lease is free
	until time.Duration
	done  bool
	ever  bool // completed at some time
	ran   bool // had its effect at some time
}

// check implements scenario.
func (l *leases) check() []Violation {
	v := &verdicts{}
	if l.failed != nil {
		v.add("usage", "%v", l.failed)
	}
	held := make(map[string]*holding)
	for _, e := range l.w.events {
		h := held[e.ID]
		if h == nil {
			h = &holding{}
			held[e.ID] = h
		}
		h.follow(v, e)
	}
	for _, n := range l.workers {
		if done, err := n.ended(); !n.dead && (!done || err != nil) {
			v.add("end", "%s has ended: %v, error %v", n.name, done, err)
		}
	}
	return v.list
}

// follow updates the state with one event of the message, and reports violations.
func (h *holding) follow(v *verdicts, e Event) {
	switch e.What {
	case Claimed:
		switch {
		case h.done:
			v.add("D3", "claimed although it was done: %s", e)
		case h.token != "" && h.token != e.Note && e.At < h.until:
			v.add("D4", "taken over %s before the end of its lease: %s", h.until-e.At, e)
		}
		h.token, h.until = e.Note, e.At+time.Duration(e.N)
	case Extended:
		if h.token != e.Note {
			v.add("D2", "extended by %s, held by %q: %s", e.Note, h.token, e)
		}
		h.until = e.At + time.Duration(e.N)
	case Released:
		if h.token == e.Note && !h.done {
			h.token = ""
		}
	case Completed:
		if h.token != "" && h.token != e.Note {
			v.add("D2", "completed by %s, held by %q: %s", e.Note, h.token, e)
		}
		h.done, h.ever = true, true
	case Effect:
		h.ran = true
	case Lost:
		h.token, h.done = "", false
	case Acked:
		if !h.ever || !h.ran {
			v.add("D6", "acked, completed %v, ran %v: %s", h.ever, h.ran, e)
		}
	case Overlap:
		v.add("D7", "taken over while its handler ran on: %s", e)
	default:
	}
}
