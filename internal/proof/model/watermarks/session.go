package watermarks

import "github.com/leat-go/leat/internal/proof/model"

type yielder func(step model.Step, to state)

func name(n int) string { return [...]string{"session 1", "session 2"}[n] }

func at(m uint8) string { return [...]string{"offset 0", "offset 2", "offset 3", "the end"}[m] }

// sessionSteps yields the possible actions of session n.
func (p *protocol) sessionSteps(s state, n int, yield yielder) {
	p.assign(s, n, yield)
	p.quiet(s, n, yield)
	one := &s.sessions[n]
	if one.on && one.next < messages {
		p.receive(s, n, yield)
	}
	for i := range one.work {
		p.work(s, n, i, yield)
	}
	if one.on {
		for i := range one.work {
			if one.work[i].phase != committing {
				one.work[i] = delivery{}
			}
		}
		one.on, one.next, one.prev = false, 0, 0
		yield(model.Step{Who: name(n), What: "crashes, or is told that the partition is gone", Outside: true}, s)
	}
}

// assign begins session n at the database's position, while the other session goes on. If the log is not
// the remembered one, the session cannot begin until operators accept the new log.
func (p *protocol) assign(s state, n int, yield yielder) {
	if s.sessions[n] != (session{}) {
		return
	}
	if !s.known && !p.anySource {
		s.known, s.mark = true, 0
		yield(model.Step{Who: "people", What: "accept the topic that was made again"}, s)
		return
	}
	from := s.mark
	s.sessions[n] = session{on: true, next: messageAt(from), prev: from}
	yield(model.Step{Who: name(n), What: "is assigned the partition, from", On: at(messageAt(from))}, s)
}

// receive takes the next message in hand, if the session has a hand free.
func (p *protocol) receive(s state, n int, yield yielder) {
	one := &s.sessions[n]
	for i := range one.work {
		if one.work[i].phase != none {
			continue
		}
		one.work[i] = delivery{phase: got, message: one.next, prev: one.prev}
		if p.ackFirst {
			s.acked |= bit(one.next)
		}
		step := model.Step{Who: name(n), What: "receives", On: at(one.next)}
		one.prev = offset(one.next) + 1
		one.next++
		yield(step, s)
		return
	}
}

// work yields the possible fates of hand i of session n.
func (p *protocol) work(s state, n, i int, yield yielder) {
	d := &s.sessions[n].work[i]
	on := at(d.message)
	switch d.phase {
	case got:
		if p.lookFirst {
			d.phase = looking
			if p.fits(&s, *d) {
				d.phase = looked
			}
			yield(model.Step{Who: name(n), What: "looks at the mark for", On: on}, s)
			return
		}
		if !s.locked() && p.fits(&s, *d) {
			d.phase = running
			yield(model.Step{Who: name(n), What: "claims", On: on}, s)
			return
		}
		d.phase = looking
		yield(model.Step{Who: name(n), What: "claims, and updates nothing, at", On: on}, s)
	case looked:
		d.phase = running
		yield(model.Step{Who: name(n), What: "runs the handler of", On: on}, s)
	case running:
		to := s
		to.sessions[n].work[i].phase = got
		yield(model.Step{Who: name(n), What: "fails at", On: on, Outside: true}, to)
		d.phase = committing
		yield(model.Step{Who: name(n), What: "sends COMMIT of", On: on}, s)
	case committing:
		p.commit(s, n, i, yield)
	case looking:
		p.look(s, n, i, yield)
	case sure:
		s.acked |= bit(d.message)
		*d = delivery{}
		yield(model.Step{Who: name(n), What: "acks", On: on}, s)
	}
}

// commit yields the outcomes of a COMMIT, whose session may have ended.
func (p *protocol) commit(s state, n, i int, yield yielder) {
	one := &s.sessions[n]
	d := one.work[i]
	to := s
	if one.on {
		to.sessions[n].work[i].phase = got
	} else {
		to.sessions[n].work[i] = delivery{}
	}
	yield(model.Step{Who: "server", What: "aborts", On: at(d.message), Outside: one.on}, to)
	s.mark = offset(d.message) + 1
	s.effects[d.message] = min(s.effects[d.message]+1, 2)
	if one.on {
		one.work[i].phase = sure
	} else {
		one.work[i] = delivery{}
	}
	yield(model.Step{Who: "server", What: "commits", On: at(d.message)}, s)
}

// look yields a session's reactions after its claim has updated nothing.
func (p *protocol) look(s state, n, i int, yield yielder) {
	one := &s.sessions[n]
	d := &one.work[i]
	switch off := offset(d.message); {
	case s.mark > off:
		d.phase = sure
		yield(model.Step{Who: name(n), What: "sees a duplicate at", On: at(d.message)}, s)
	case p.ackBusy:
		d.phase = sure
		yield(model.Step{Who: name(n), What: "acks what is in work, at", On: at(d.message)}, s)
	default: // the message is in work elsewhere, or there is a gap: it is delivered again with those before it
		if p.losses > 0 && p.ahead(&s, d.prev) {
			p.leave(s, n, yield)
		}
		d.phase = got
		yield(model.Step{Who: name(n), What: "sees that it is not the turn of", On: at(d.message)}, s)
	}
}

// remake deletes the topic and creates it again, with as many new messages.
func (p *protocol) remake(s state, yield yielder) {
	if s.remakes == 0 {
		return
	}
	s.remakes--
	s.effects, s.acked, s.sessions = [messages]uint8{}, 0, [2]session{}
	s.known = p.anySource
	yield(model.Step{Who: "people", What: "delete the topic and make it again", Outside: true}, s)
}
