package watermarks

import "github.com/leat-go/leat/internal/proof/model"

// lose takes the database back by some commits, like the promotion of a replica that lagged. Open
// transactions are lost, but their sessions go on.
func (p *protocol) lose(s state, yield yielder) {
	if s.losses == 0 {
		return
	}
	s.losses--
	for m := range uint8(messages) {
		to := s
		if to.mark = 0; m > 0 {
			to.mark = offset(m-1) + 1
		}
		if to.mark >= s.mark {
			return
		}
		for late := m; late < messages; late++ {
			if to.effects[late] > 0 {
				to.effects[late], to.lost, to.acked = 0, to.lost|bit(late), to.acked&^bit(late)
			}
		}
		for n := range to.sessions {
			to.sessions[n].lose()
		}
		yield(model.Step{Who: "server", What: "fails over, and has lost what came from", On: at(m), Outside: true}, to)
	}
}

// lose ends the session's transactions.
func (one *session) lose() {
	for i := range one.work {
		switch d := &one.work[i]; {
		case !one.on:
			*d = delivery{}
		case d.phase != none && d.phase != sure:
			d.phase = got
		}
	}
}

// ahead reports whether the session has delivered messages that the database does not record as processed.
func (p *protocol) ahead(s *state, prev uint8) bool { return s.mark < prev && !p.stays }

// leave makes a session that is ahead of the database end cleanly. Its partition is assigned again.
func (p *protocol) leave(s state, n int, yield yielder) {
	one := &s.sessions[n]
	for i := range one.work {
		if one.work[i].phase != committing {
			one.work[i] = delivery{}
		}
	}
	one.on, one.next, one.prev = false, 0, 0
	yield(model.Step{Who: name(n), What: "is ahead of the database, and leaves"}, s)
}

// quiet yields the check that an idle session makes when no message arrives.
func (p *protocol) quiet(s state, n int, yield yielder) {
	one := s.sessions[n]
	if one.on && one.next == messages && one.work == [hands]delivery{} && !p.blind && p.ahead(&s, one.prev) {
		p.leave(s, n, yield)
	}
}
