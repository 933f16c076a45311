package exactly

import "github.com/leat-go/leat/internal/proof/model"

// clusterSteps yields what the cluster does with requests of relay n.
func (p *protocol) clusterSteps(s state, n uint8, yield yielder) {
	t := &s.terms[n]
	newest := s.producer == n+1 || p.noFence
	for r := range uint8(maxRecords) {
		if t.wire&(1<<r) == 0 {
			continue
		}
		p.receive(s, n, r, newest, yield)
		break
	}
	if t.position != 0 {
		to := s
		one := &to.terms[n]
		step := model.Step{Who: "kafka", What: "takes the position of", On: name(n)}
		if newest {
			one.stage, one.mark = open, t.position
		} else {
			one.failed = one.phase == sending
			step.What = "refuses the position of"
		}
		one.position = 0
		yield(step, to)
	}
	if t.ask {
		p.decide(s, n, newest, yield)
	}
	if t.stage == prepared {
		t.stage = done
		s.reveal(t)
		if t.phase != ending {
			t.stage = none
		}
		yield(model.Step{Who: "kafka", What: "makes visible what is committed of", On: name(n)}, s)
	}
}

// receive yields the possible answers to record r: accepted or refused.
func (p *protocol) receive(s state, n, r uint8, newest bool, yield yielder) {
	to := s
	t := &to.terms[n]
	t.wire &^= 1 << r
	if newest {
		t.stage = open
		t.staged |= 1 << r
		yield(model.Step{Who: "kafka", What: "takes from " + name(n), On: place(r)}, to)
	}
	to = s
	t = &to.terms[n]
	t.wire &^= 1 << r
	t.failed = t.phase == sending
	yield(model.Step{Who: "kafka", What: "refuses from " + name(n), On: place(r), Outside: newest}, to)
}

// decide yields the coordinator's answers to the request to commit.
func (p *protocol) decide(s state, n uint8, newest bool, yield yielder) {
	t := &s.terms[n]
	t.ask = false
	if !newest {
		yield(model.Step{Who: "kafka", What: "refuses to commit for", On: name(n)}, s)
		return
	}
	t.stage = prepared
	yield(model.Step{Who: "kafka", What: "decides to commit for", On: name(n)}, s)
}

// outsideSteps yields three events: the position is copied to PostgreSQL, a transaction times out, or the
// position is lost.
func (p *protocol) outsideSteps(s state, yield yielder) {
	for n := range p.terms {
		t := &s.terms[n]
		at := t.at
		if p.copyFirst {
			at = max(at, t.until)
		}
		if p.copies && (t.phase == idle || p.copyFirst) && s.epoch == n+1 && at > s.copied {
			to := s
			to.copied = at
			yield(model.Step{Who: name(n), What: "copies the position to PostgreSQL", Outside: true}, to)
		}
		if p.timeouts && t.stage == open && s.producer == n+1 {
			to := s
			one := &to.terms[n]
			one.drop()
			one.failed = one.phase == sending
			to.producer = 0
			yield(model.Step{Who: "kafka", What: "ends, since it takes too long, the transaction of", On: name(n), Outside: true}, to)
		}
	}
	p.rewindSteps(s, yield)
	if s.vanishes && s.position > 0 && !s.missing {
		s.vanishes, s.missing = false, true
		yield(model.Step{Who: "kafka", What: "loses the position", Outside: true}, s)
	}
}

// rewindSteps yields two events: the database goes back behind a record, as after a failover to a server
// that had not received it, and producers then use the same transaction ids again.
func (p *protocol) rewindSteps(s state, yield yielder) {
	if s.rewound && !s.passed {
		to := s
		to.passed = true
		yield(model.Step{Who: "producers", What: "use up the transaction ids that were lost", Outside: true}, to)
	}
	if !p.rewinds || s.rewound || s.epoch == p.terms {
		return
	}
	for back := range p.records {
		to := s
		to.rewound, to.back = true, back
		to.visible &= upTo(back)
		to.copied = min(to.copied, back)
		for n := range to.epoch {
			to.terms[n].old = true
		}
		yield(model.Step{Who: "postgres", What: "goes back, and others are committed from", On: place(back), Outside: true}, to)
	}
}
