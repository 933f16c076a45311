package exactly

import "github.com/leat-go/leat/internal/proof/model"

type yielder func(step model.Step, to state)

func name(n uint8) string { return [...]string{"relay 1", "relay 2", "relay 3"}[n] }

func place(r uint8) string { return [...]string{"record 1", "record 2", "record 3", "the end"}[r] }

// termSteps yields the possible actions of relay n.
func (p *protocol) termSteps(s state, n uint8, yield yielder) {
	t := &s.terms[n]
	switch t.phase {
	case unborn:
		if s.epoch == n {
			s.epoch++
			t.phase = begun
			yield(model.Step{Who: name(n), What: "takes the lease"}, s)
		}
		return
	case ended, refused:
		return
	case begun:
		p.start(s, n, yield)
	case fenced:
		yield(p.recall(s, n))
	case idle:
		p.send(s, n, yield)
	case sending:
		p.flush(s, n, yield)
	case flushed:
		t.phase, t.ask = ending, true
		yield(model.Step{Who: name(n), What: "asks to commit"}, s)
	case ending:
		p.hear(s, n, yield)
	case marking:
		s.position = t.until
		p.advance(&s, n)
		yield(model.Step{Who: name(n), What: "commits the position, to", On: place(t.until)}, s)
	}
	if n+1 < p.terms {
		to := s
		to.terms[n].stop()
		yield(model.Step{Who: name(n), What: "crashes", Outside: true}, to)
	}
}

// stop ends the relay. What it has sent stays in flight.
func (t *term) stop() {
	t.phase, t.at, t.until, t.failed = ended, 0, 0, false
	if t.stage == done {
		t.stage = none
	}
}

// start makes a producer. A variant reads the position first.
func (p *protocol) start(s state, n uint8, yield yielder) {
	if s.epoch != n+1 {
		to := s
		to.terms[n].stop()
		yield(model.Step{Who: name(n), What: "sees that the lease is another's"}, to)
	}
	if p.readFirst {
		s.terms[n].at = s.position
		s.terms[n].phase = fenced
		yield(model.Step{Who: name(n), What: "reads the position", On: place(s.position)}, s)
		return
	}
	p.fence(s, n, fenced, yield)
}

// fence makes n's producer the newest: the coordinator ends the open transactions of earlier
// producers, once decided ones have become visible, and refuses what they send later.
func (p *protocol) fence(s state, n, phase uint8, yield yielder) {
	for i := range s.terms {
		if s.terms[i].stage == prepared {
			return
		}
	}
	s.producer = n + 1
	for i := range s.terms {
		t := &s.terms[i]
		if p.noFence && i != int(n) {
			continue
		}
		t.drop()
	}
	s.terms[n].phase = phase
	step := model.Step{Who: name(n), What: "fences all producers before"}
	if p.noFence {
		step.What = "makes a producer of its own"
	}
	yield(step, s)
}

// recall reads the position, after the producer was made.
func (p *protocol) recall(s state, n uint8) (model.Step, state) {
	t := &s.terms[n]
	if p.readFirst {
		step := model.Step{Who: name(n), What: "waits for the coordinator"}
		p.fence(s, n, idle, func(fences model.Step, to state) { step, s = fences, to })
		return step, s
	}
	t.phase, t.at = idle, s.position
	switch {
	case s.rewound && !t.old && s.position > s.back && (!p.wearsOff || !s.passed):
		// A relay uses a window only once it is on the disk. So the database has caught up with this window,
		// and it goes no further, since nothing is read before the relay has decided.
		t.phase, t.at = refused, 0
		return model.Step{Who: name(n), What: "finds the position ahead of the database and stops"}, s
	case p.fromCopy:
		t.at = s.copied
	case s.missing && !p.missingIsZero:
		t.phase, t.at = refused, 0
		return model.Step{Who: name(n), What: "misses the position and stops"}, s
	case s.missing:
		t.at = 0
	}
	return model.Step{Who: name(n), What: "begins at", On: place(t.at)}, s
}

// send begins a transaction with the next records and the position after them.
func (p *protocol) send(s state, n uint8, yield yielder) {
	at := s.terms[n].at
	for until := at + 1; until <= min(at+p.window, p.records); until++ {
		to := s
		t := &to.terms[n]
		t.phase, t.until, t.failed = sending, until, false
		t.wire = upTo(until) &^ upTo(at)
		switch {
		case p.positionFirst:
			to.position = until
		case !p.positionAfter:
			t.position = until
		}
		yield(model.Step{Who: name(n), What: "sends, in a transaction, those before", On: place(until)}, to)
	}
}

// flush ends the wait for answers. If all were accepted, the transaction ends next. Otherwise the client
// is discarded.
func (p *protocol) flush(s state, n uint8, yield yielder) {
	t := &s.terms[n]
	if t.wire == 0 && t.position == 0 && (!t.failed || p.commitGap) {
		t.phase = flushed
		yield(model.Step{Who: name(n), What: "has all answers"}, s)
		return
	}
	again := s
	again.restart(n)
	yield(model.Step{Who: name(n), What: "gives the transaction up", Outside: !t.failed && s.producer == n+1}, again)
}

// restart makes relay n begin again, with a new client.
func (s *state) restart(n uint8) {
	t := &s.terms[n]
	t.stop()
	if !t.old {
		t.phase = begun
	}
}

// hear yields relay n's reactions to the answer to its commit, or to the loss of that answer.
func (p *protocol) hear(s state, n uint8, yield yielder) {
	t := &s.terms[n]
	if t.stage == done {
		to := s
		to.terms[n].stage = none
		if p.positionAfter {
			to.terms[n].phase = marking
		} else {
			p.advance(&to, n)
		}
		yield(model.Step{Who: name(n), What: "hears that it is committed"}, to)
	}
	step := model.Step{Who: name(n), What: "hears nothing of the end", Outside: t.stage != none || t.ask}
	switch {
	case p.retryUnknown:
		if t.stage == prepared {
			return
		}
		t.drop()
		t.phase, t.until = idle, 0
	case p.trustUnknown:
		p.advance(&s, n)
	default:
		s.restart(n)
	}
	yield(step, s)
}

// advance moves the relay's position to the end of the transaction. PostgreSQL's copy is written later, if
// at all.
func (p *protocol) advance(s *state, n uint8) {
	t := &s.terms[n]
	t.phase, t.at, t.until = idle, t.until, 0
}
