package relays

import "github.com/leat-go/leat/internal/proof/model"

// yielder receives the steps.
type yielder func(step model.Step, to state)

func relay(n uint8) string { return [...]string{"relay 1", "relay 2", "relay 3"}[n] }

func record(r uint8) string { return [...]string{"j1", "k1", "k2"}[r] }

// termSteps yields the possible actions of term n.
func (p *protocol) termSteps(s state, n uint8, yield yielder) {
	switch t := &s.terms[n]; t.phase {
	case unborn:
		if s.epoch == n {
			yield(model.Step{Who: relay(n), What: "takes the lease"}, p.begin(s, n))
		}
		return
	case ended:
		return
	case idle:
		p.fetch(s, n, yield)
	case hasPage, hasHeld:
		if t.calling {
			p.answer(s, n, yield)
			p.giveUp(s, n, yield)
		} else {
			p.work(s, n, yield)
		}
	}
	if n+1 < p.terms {
		to := s
		to.terms[n] = s.terms[n].leaves()
		yield(model.Step{Who: relay(n), What: "crashes", Outside: true}, to)
	}
}

// begin takes the lease, whoever holds it, and reads the position.
func (p *protocol) begin(s state, n uint8) state {
	s.epoch = n + 1
	s.terms[n] = term{phase: idle, done: s.pos, held: family(s.held())}
	if p.forgetHeld {
		s.terms[n].held = 0
	}
	return s
}

// fetch takes the next page, or the held records that are due.
func (p *protocol) fetch(s state, n uint8, yield yielder) {
	if p.claimRows {
		p.claimRow(s, n, yield)
		return
	}
	to := s
	t := &to.terms[n]
	if t.done < records {
		t.phase, t.end = hasPage, min(t.done+pageSize, records)
		t.todo = before(t.end) &^ before(t.done)
		yield(model.Step{Who: relay(n), What: "reads a page from", On: record(t.done)}, to)
	}
	if due := s.due(); due != 0 {
		to, t = s, &to.terms[n]
		t.phase, t.todo = hasHeld, due
		yield(model.Step{Who: relay(n), What: "finds held records that are due, first", On: record(due.first())}, to)
	}
}

// claimRow takes the first record that no other term has in hand.
func (p *protocol) claimRow(s state, n uint8, yield yielder) {
	taken := s.logged
	for i := range s.terms {
		taken |= s.terms[i].todo
	}
	r := (^taken & before(records)).first()
	if r == records {
		return
	}
	t := &s.terms[n]
	t.phase, t.done, t.end, t.todo = hasPage, r, r+1, one(r)
	yield(model.Step{Who: relay(n), What: "claims", On: record(r)}, s)
}

// work sends the records in hand, or stores the outcome.
func (p *protocol) work(s state, n uint8, yield yielder) {
	t := &s.terms[n]
	if t.todo != 0 {
		yield(p.send(s, n))
	}
	if t.phase == hasHeld {
		if t.todo == 0 {
			yield(model.Step{Who: relay(n), What: "stores what happened to held records"}, p.resolve(s, n))
		}
		return
	}
	until := min(t.todo.first(), t.end)
	if until > t.done {
		yield(model.Step{Who: relay(n), What: "settles all before", On: boundary(until)}, p.store(s, n, until))
	}
}

func boundary(r uint8) string {
	if r == records {
		return "the end"
	}
	return record(r)
}

// send sets aside the records that must wait, and begins a call with the others.
func (p *protocol) send(s state, n uint8) (model.Step, state) {
	current := s.epoch == n+1
	t := &s.terms[n]
	if t.phase == hasPage {
		waits := t.todo & p.blocks(t)
		t.wait |= waits
		t.todo &^= waits
	}
	if t.todo == 0 {
		return model.Step{Who: relay(n), What: "sets aside what waits for", On: record(t.wait.first())}, s
	}
	step := model.Step{Who: relay(n), What: "sends, first", On: record(t.todo.first())}
	if current && t.phase == hasPage && behind(s.parked)&t.todo != 0 {
		s.broken = brokeO6
	}
	t.wire, t.calling = t.todo, true
	if p.passUnacked {
		t.late, t.wire, t.todo, t.calling = t.wire, 0, 0, false
	}
	return step, s
}

// behind returns the records of s and all later records of their keys.
func behind(s set) set {
	var all set
	for r := range uint8(records) {
		if s.has(r) {
			all |= mates(r) &^ before(r)
		}
	}
	return all
}

// answer yields a term's reactions to the sink's answer. There are none while records are in flight.
func (p *protocol) answer(s state, n uint8, yield yielder) {
	t := &s.terms[n]
	if t.wire != 0 {
		return
	}
	refused := t.refused
	take(t, t.acked)
	if refused == 0 {
		if t.phase == hasHeld {
			t.todo = 0
		}
		yield(model.Step{Who: relay(n), What: "has the answer"}, s)
		return
	}
	on := record(refused.first())
	if t.phase == hasHeld {
		t.todo = 0
	} else {
		yield(model.Step{Who: relay(n), What: "has the answer and will try again", On: on}, s)
		t.todo &^= refused
	}
	later := s
	later.terms[n].retry |= refused
	yield(model.Step{Who: relay(n), What: "has the answer and sets aside for later", On: on}, later)
	if p.passBy {
		return
	}
	s.terms[n].park |= refused
	yield(model.Step{Who: relay(n), What: "has the answer and parks", On: on}, s)
}

// take ends a call. acked are the records that are known to have arrived.
func take(t *term, acked set) {
	t.todo &^= acked
	if t.phase == hasHeld {
		t.gone |= acked
	}
	t.wire, t.acked, t.refused, t.calling = 0, 0, 0, false
}

// giveUp yields the ways in which a call can be cut off: any of the answers may be known, and the records
// in flight are lost, or arrive after later ones.
func (p *protocol) giveUp(s state, n uint8, yield yielder) {
	before := s.terms[n]
	for known := before.acked; ; known = (known - 1) & before.acked {
		to := s
		t := &to.terms[n]
		take(t, known)
		if t.phase == hasHeld {
			t.todo = 0
		}
		yield(model.Step{Who: relay(n), What: "is cut off, its bytes are lost", Outside: true}, to)
		if before.wire != 0 && before.late == 0 && n+1 < p.terms {
			to.terms[n].late = before.wire
			yield(model.Step{Who: relay(n), What: "gives up a call whose bytes are under way", Outside: true}, to)
		}
		if known == 0 {
			return
		}
	}
}
