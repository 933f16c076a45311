package inboxes

import "github.com/leat-go/leat/internal/proof/model"

type yielder func(step model.Step, to state)

func name(n int) string { return [...]string{"worker 1", "worker 2", "worker 3"}[n] }

// workerSteps yields what worker n can do.
func (p *protocol) workerSteps(s state, n int, yield yielder) {
	w := &s.workers[n]
	switch w.phase {
	case away:
		p.deliver(s, n, yield)
		return
	case got:
		if !p.innerAttempts {
			s.attempts = min(s.attempts+1, tries+1)
		}
		w.attempt = s.attempts
		if p.innerAttempts {
			w.attempt = min(s.attempts+1, tries+1)
		}
		w.phase = counted
		yield(model.Step{Who: name(n), What: "counts an attempt"}, s)
	case counted:
		yield(p.claim(s, n))
	case looking:
		yield(p.look(s, n))
	case running:
		p.handle(s, n, yield)
	case ran:
		w.phase, w.tx.phase = waiting, committing
		yield(model.Step{Who: name(n), What: "sends COMMIT"}, s)
	case waiting:
		p.hear(s, n, yield)
	case sure:
		to := s
		to.workers[n] = worker{}
		yield(model.Step{Who: name(n), What: "acks, which gets lost", Outside: true}, to)
		to.acked = true
		yield(model.Step{Who: name(n), What: "acks"}, to)
	}
}

// deliver hands the message to worker n, as often as it takes; twice at once, too.
func (p *protocol) deliver(s state, n int, yield yielder) {
	step := model.Step{Who: "broker", What: "delivers to", On: name(n)}
	if s.acked {
		if s.again == 0 {
			return
		}
		s.again--
		step.Outside = true
	}
	s.workers[n] = worker{phase: got}
	if p.ackFirst {
		s.acked = true
	}
	yield(step, s)
}

// claim tries the lock and inserts the id, in one statement.
func (p *protocol) claim(s state, n int) (model.Step, state) {
	w := &s.workers[n]
	if s.forgotten && !p.forgetAll {
		w.phase, s.parked = sure, true
		return model.Step{Who: name(n), What: "finds it too old, and sets it aside"}, s
	}
	if s.row || s.locked() && !p.lookFirst {
		w.phase = looking
		return model.Step{Who: name(n), What: "claims, and inserts nothing"}, s
	}
	if p.markFirst {
		s.row = true
	}
	w.phase, w.tx = running, transaction{phase: claimed, attempt: w.attempt}
	return model.Step{Who: name(n), What: "claims"}, s
}

// look asks whether the id is there.
func (p *protocol) look(s state, n int) (model.Step, state) {
	if s.row {
		s.workers[n] = worker{phase: sure}
		return model.Step{Who: name(n), What: "sees that it is done"}, s
	}
	s.workers[n] = worker{}
	if p.ackBusy {
		s.workers[n].phase = sure
	}
	return model.Step{Who: name(n), What: "sees that it is in work elsewhere"}, s
}

// handle yields the ends of the handler.
func (p *protocol) handle(s state, n int, yield yielder) {
	w := &s.workers[n]
	if w.attempt > tries {
		w.phase, w.tx.phase, w.tx.parks = ran, written, true
		yield(model.Step{Who: name(n), What: "parks instead of running the handler"}, s)
		return
	}
	failed := s
	failed.workers[n] = worker{}
	if p.unmark {
		failed.row = false
	}
	yield(model.Step{Who: "handler of " + name(n), What: "fails, which is rolled back", Outside: !s.poison}, failed)
	if s.poison {
		return
	}
	if p.publishBefore {
		s.out = min(s.out+1, 2)
	}
	w.phase, w.tx.phase = ran, written
	yield(model.Step{Who: "handler of " + name(n), What: "returns"}, s)
}

// hear yields what a worker makes of the answer to COMMIT, or of none.
func (p *protocol) hear(s state, n int, yield yielder) {
	w := &s.workers[n]
	switch w.tx.phase {
	case committed:
		p.sure(s, n, yield)
	case aborted:
		s.workers[n] = worker{}
		yield(model.Step{Who: name(n), What: "hears that nothing was committed"}, s)
		return
	}
	if w.tx.phase == committing && s.orphan.phase != none {
		return
	}
	if w.tx.phase == committing {
		s.orphan = w.tx
	}
	s.workers[n] = worker{}
	if p.trustCommit {
		s.workers[n].phase = sure
	}
	yield(model.Step{Who: name(n), What: "hears nothing of its COMMIT", Outside: true}, s)
}

// sure lets worker n ack, after what the protocol leaves until then.
func (p *protocol) sure(s state, n int, yield yielder) {
	w := &s.workers[n]
	if p.publishAfter && !w.tx.parks {
		s.out = min(s.out+1, 2)
	}
	if p.markAfter {
		s.row = true
	}
	s.workers[n] = worker{phase: sure}
	yield(model.Step{Who: name(n), What: "hears that it is committed"}, s)
}
