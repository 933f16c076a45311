package leases

import "github.com/leat-go/leat/internal/proof/model"

// timeSteps yields that leases and records run out.
func (p *protocol) timeSteps(s state, yield yielder) {
	r := s.record
	switch {
	case r.kind == pending && r.live:
		if holder := &s.runs[r.token]; holder.mine && !p.deaf {
			return // its own clock comes first
		}
		s.record.live = false
		yield(model.Step{Who: "redis", What: "lets run out the lease of", On: name(r.token)}, s)
	case r.kind == pending || r.kind == released:
		s.record = gone()
		yield(model.Step{Who: "redis", What: "forgets a record that nobody has completed"}, s)
	case r.kind == done && s.faults > 0:
		s.fault()
		s.record = gone()
		yield(model.Step{Who: "redis", What: "forgets that it is done", Outside: true}, s)
	}
}

// faultSteps yields what can go wrong with run i.
func (p *protocol) faultSteps(s state, i uint8, yield yielder) {
	r := s.runs[i]
	if r.lateClaim {
		to := s
		to.runs[i].lateClaim = false
		p.claim(&to, i)
		yield(model.Step{Who: "redis", What: "carries out late the claim of", On: name(i)}, to)
	}
	if r.lateTell {
		to := s
		to.runs[i].lateTell = false
		p.tell(&to, i)
		yield(model.Step{Who: "redis", What: "carries out late the completion of", On: name(i)}, to)
	}
	if r.phase == unborn || s.faults == 0 {
		return
	}
	s.fault()
	to := s
	if r.mine {
		to.runs[i].mine = false
		yield(model.Step{Who: name(i), What: "could not extend, and its clock says that the lease is over", Outside: true}, to)
		to = s
	}
	to.end(i, false, false)
	yield(model.Step{Who: name(i), What: "crashes, or gives up", Outside: true}, to)
	if r.phase == asking || r.phase == telling {
		s.end(i, r.phase == asking, r.phase == telling)
		yield(model.Step{Who: name(i), What: "gives up a request that is on its way", Outside: true}, s)
	}
}

// serverFaults yields that the record is lost, and that the clock steps back.
func (p *protocol) serverFaults(s state, yield yielder) {
	if s.faults == 0 || s.record.kind == absent {
		return
	}
	s.fault()
	to := s
	to.record, to.lost = gone(), true
	yield(model.Step{Who: "redis", What: "loses the record", Outside: true}, to)
	if s.record.kind == pending && !s.record.long {
		s.record.long = true
		yield(model.Step{Who: "redis", What: "has its clock set back", Outside: true}, s)
	}
}
