package relays

import "github.com/leat-go/leat/internal/proof/model"

// store settles the records before until and stores the held ones among them, in one transaction
// under the lease.
func (p *protocol) store(s state, n, until uint8) state {
	t := &s.terms[n]
	if p.claimRows { // the row is deleted; the broker's log replaces it
		*t = term{phase: idle, late: t.late}
		return s
	}
	fenced := s.epoch != n+1 && !p.noFence
	if fenced {
		s.terms[n] = t.leaves()
		return s
	}
	aside := before(until)
	retry, wait, park := t.retry&aside, t.wait&aside, t.park&aside
	if until > s.pos || p.blindWrite {
		s.pos = until
		s.retry |= retry
		s.wait |= wait
		s.parked |= park
		s.settle(retry | wait | park)
	}
	t.done = until
	t.held |= family(retry | wait | park)
	if p.passBy {
		t.held = 0
	}
	if p.parkAlone {
		t.held = family(s.retry | s.wait)
	}
	t.retry, t.wait, t.park = t.retry&^aside, t.wait&^aside, t.park&^aside
	if until == t.end {
		t.phase, t.end = idle, 0
	}
	return s
}

// resolve stores the outcome of held records that were tried. Changes that operators have made
// since are kept.
func (p *protocol) resolve(s state, n uint8) state {
	t := &s.terms[n]
	if s.epoch != n+1 && !p.noFence {
		s.terms[n] = t.leaves()
		return s
	}
	touched := t.gone | t.retry | t.park
	s.retry &^= t.gone
	s.wait &^= t.gone
	tried := (s.retry | s.wait) & (t.retry | t.park)
	s.retry = s.retry&^tried | tried&t.retry
	s.wait &^= tried
	s.parked |= tried & t.park
	s.settle(touched)
	for _, key := range [...]set{keyK, keyJ} {
		if touched&key != 0 && s.held()&key == 0 {
			t.held &^= key
		}
	}
	t.phase, t.gone, t.retry, t.park = idle, 0, 0, 0
	return s
}

// wireSteps yields what can happen to the bytes of term n.
func (p *protocol) wireSteps(s state, n uint8, yield yielder) {
	for _, key := range [...]set{keyK, keyJ} {
		if wire := s.terms[n].wire & key; wire != 0 {
			to, r := s, wire.first()
			t := &to.terms[n]
			rest, appended := p.receive(&to, wire)
			t.wire = t.wire&^key | rest
			switch {
			case t.phase == ended:
			case appended:
				t.acked |= one(r)
			default:
				t.refused |= one(r)
			}
			yield(model.Step{Who: "broker", What: verb(appended), On: record(r)}, to)
		}
		if late := s.terms[n].late & key; late != 0 {
			to, r := s, late.first()
			rest, appended := p.receive(&to, late)
			to.terms[n].late = to.terms[n].late&^key | rest
			yield(model.Step{Who: "broker", What: verb(appended) + " late", On: record(r)}, to)
		}
	}
}

// receive takes the first record of one key from a channel, and returns the rest of the channel, which is
// empty after a refused record.
func (p *protocol) receive(s *state, channel set) (rest set, appended bool) {
	r := channel.first()
	appended = s.arrive(r)
	if !appended && !p.goesOn {
		return 0, false
	}
	return channel &^ one(r), appended
}

func verb(appended bool) string {
	if appended {
		return "appends"
	}
	return "refuses"
}

// peopleSteps yields what operators do: they repair the broker, and redrive or skip records.
func (p *protocol) peopleSteps(s state, yield yielder) {
	if s.poison != 0 {
		to := s
		to.poison = 0
		yield(model.Step{Who: "people", What: "fix what the broker has refused", Outside: true}, to)
	}
	if s.people == 0 {
		return
	}
	s.people--
	for _, key := range [...]set{keyK, keyJ} {
		held := s.held() & key
		if held == 0 || !s.parked.has(held.first()) {
			continue
		}
		head := one(held.first())
		to := s
		to.parked &^= head
		to.retry |= head
		to.settle(key)
		yield(model.Step{Who: "people", What: "redrive", On: record(held.first()), Outside: true}, to)
		to = s
		to.parked &^= head
		to.dropped |= head
		to.settle(key)
		yield(model.Step{Who: "people", What: "skip", On: record(held.first()), Outside: true}, to)
	}
}
