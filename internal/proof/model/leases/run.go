package leases

import "github.com/leat-go/leat/internal/proof/model"

type yielder func(step model.Step, to state)

func name(i uint8) string { return [...]string{"run 1", "run 2", "run 3"}[i] }

// runSteps yields what run i can do, and what the server does with its requests.
func (p *protocol) runSteps(s state, i uint8, yield yielder) {
	switch r := &s.runs[i]; r.phase {
	case unborn:
		p.deliver(s, i, yield)
	case asking:
		r.phase, r.answer = asked, p.claim(&s, i)
		yield(model.Step{Who: "redis", What: "carries out the claim of", On: name(i)}, s)
	case asked:
		p.hearClaim(s, i, yield)
	case working:
		p.work(s, i, yield)
	case acted:
		r.phase = telling
		yield(model.Step{Who: name(i), What: "asks to complete"}, s)
	case telling:
		r.phase, r.answer, r.mine = told, p.tell(&s, i), false
		yield(model.Step{Who: "redis", What: "carries out the completion of", On: name(i)}, s)
	case told:
		p.hearTell(s, i, yield)
	case failing:
		p.release(&s, i)
		s.end(i, false, false)
		yield(model.Step{Who: "redis", What: "carries out the release of", On: name(i)}, s)
	}
}

// deliver begins run i, while there is need, and once afterwards.
func (p *protocol) deliver(s state, i uint8, yield yielder) {
	if !s.mayBegin(i) {
		return
	}
	step := model.Step{Who: "broker", What: "delivers to", On: name(i)}
	if s.acked {
		if !s.again {
			return
		}
		s.again = false
		step.Outside = true
	}
	s.runs[i] = run{phase: asking}
	yield(step, s)
}

// hearClaim yields what run i makes of the answer to its claim.
func (p *protocol) hearClaim(s state, i uint8, yield yielder) {
	p.repeat(s, i, asking, yield)
	r := &s.runs[i]
	switch r.answer {
	case claimed:
		// Its own lease counts from before it has asked: none, where the server's is over.
		r.phase, r.answer, r.again = working, 0, false
		r.mine = s.record.token == i && s.record.live
		yield(model.Step{Who: name(i), What: "has claimed"}, s)
	case busy:
		s.acked = s.acked || p.ackBusy
		s.end(i, false, false)
		yield(model.Step{Who: name(i), What: "hears that another one has it"}, s)
	case isDone:
		s.acked = true
		s.end(i, false, false)
		yield(model.Step{Who: name(i), What: "hears that it is done, and acks"}, s)
	}
}

// work yields what can happen while run i's handler runs.
func (p *protocol) work(s state, i uint8, yield yielder) {
	to := s
	p.extend(&to, i)
	if to != s {
		yield(model.Step{Who: name(i), What: "asks for another lease"}, to)
	}
	failed := s
	failed.runs[i].phase, failed.runs[i].mine = failing, false
	yield(model.Step{Who: name(i), What: "fails, or has lost its lease, and releases", Outside: s.runs[i].mine}, failed)
	act := model.Step{Who: name(i), What: "has its effect"}
	acts := s
	acts.runs[i].phase = acted
	acts.effects = min(s.effects+1, 2)
	if s.runs[i].mine || p.deaf {
		yield(act, acts)
	} else if s.faults > 0 {
		acts.fault()
		act.What, act.Outside = "was paused, and has its effect after its lease", true
		yield(act, acts)
	}
}

// hearTell yields what run i makes of the answer to its completion.
func (p *protocol) hearTell(s state, i uint8, yield yielder) {
	p.repeat(s, i, telling, yield)
	s.acked = s.acked || s.runs[i].answer == isDone
	what := "hears that it is done, and acks"
	if s.runs[i].answer == fenced {
		what = "hears that another one has taken over"
	}
	s.end(i, false, false)
	yield(model.Step{Who: name(i), What: what}, s)
}

// repeat yields that an answer is lost and the request sent again, once.
func (p *protocol) repeat(s state, i, phase uint8, yield yielder) {
	r := &s.runs[i]
	if r.again || s.faults == 0 {
		return
	}
	s.fault()
	r.phase, r.answer, r.again = phase, 0, true
	yield(model.Step{Who: name(i), What: "has no answer and asks again", Outside: true}, s)
}
