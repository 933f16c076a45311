package leases

// claim is what the server does with run i's claim.
func (p *protocol) claim(s *state, i uint8) (answer uint8) {
	r := &s.record
	switch {
	case r.kind == done:
		return isDone
	case r.kind == pending && r.long:
		if p.doneByExpiry {
			return isDone
		}
		r.live, r.long = true, false // nobody knows what is left, so it begins again
	}
	switch {
	case r.kind == pending && r.live && r.token == i:
		return claimed
	case r.kind == pending && r.live && !p.steal:
		return busy
	}
	*r = record{kind: pending, token: i, by: i, live: true}
	if p.markFirst {
		r.kind, r.live = done, false
	}
	return claimed
}

// tell is what the server does with run i's completion.
func (p *protocol) tell(s *state, i uint8) (answer uint8) {
	r := &s.record
	switch {
	case r.kind == done:
		return isDone
	case p.forgets:
		*r = gone()
		return isDone
	case r.kind == pending && r.token != i && !p.completeAny:
		return fenced
	}
	*r = record{kind: done, token: i, by: i}
	return isDone
}

// release is what the server does with run i's release.
func (p *protocol) release(s *state, i uint8) {
	r := &s.record
	if r.kind == pending && (r.token == i || p.releaseAny) {
		r.kind, r.live, r.long, r.by = released, false, false, i
	}
}

// extend is what the server does with run i's wish for another lease, and the run
// with the answer.
func (p *protocol) extend(s *state, i uint8) {
	r := &s.record
	granted := r.kind == pending && (r.token == i || p.extendAny)
	if granted {
		r.live = true
	}
	s.runs[i].mine = granted
}
