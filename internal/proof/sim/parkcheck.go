package sim

// messageFate is the fate of one message according to the history.
type messageFate struct {
	started, withdrawn int
	effects            int
	parked             bool // it is parked now, or was once
}

// check implements scenario.
func (p *parking) check() []Violation {
	v := &verdicts{}
	if p.failed != nil {
		v.add("usage", "%v", p.failed)
	}
	fates := make(map[string]*messageFate)
	for _, e := range p.w.events {
		f := fates[e.ID]
		if f == nil {
			f = &messageFate{}
			fates[e.ID] = f
		}
		f.follow(v, e)
	}
	for _, e := range p.sent {
		if f := fates[e.id]; f == nil || f.effects == 0 {
			v.add("I1", "never took effect: %s", e.id)
		}
	}
	p.checkOrder(v)
	for _, n := range p.consumers {
		if done, err := n.ended(); !n.dead && (!done || err != nil) {
			v.add("end", "%s has ended: %v, error %v", n.name, done, err)
		}
	}
	return v.list
}

// follow updates the fate with one event of the message, and reports violations.
func (f *messageFate) follow(v *verdicts, e Event) {
	switch e.What {
	case Started:
		if f.started++; !f.parked && f.started > parkAttempts+f.withdrawn {
			v.add("I4", "the handler ran %d times, %d of them do not count: %s", f.started, f.withdrawn, e)
		}
	case Withdrawn:
		f.withdrawn++
	case Parked:
		if f.parked = true; e.N >= 0 && e.N < parkAttempts {
			v.add("I4", "parked after %d attempts: %s", e.N, e)
		}
	case Effect:
		if f.effects++; f.effects > 1 {
			v.add("I1", "took effect %d times: %s", f.effects, e)
		}
	case Acked:
		if f.effects == 0 && !f.parked {
			v.add("I3", "acked, neither processed nor parked: %s", e)
		}
	default:
	}
}

// checkOrder: the messages of a key take effect in their order, through parking and
// redriving.
func (p *parking) checkOrder(v *verdicts) {
	place := make(map[string]int)
	for i, e := range p.sent {
		place[e.id] = i
	}
	last := make(map[string]Event)
	for _, e := range p.w.events {
		if e.What != Effect || e.Key == "" {
			continue
		}
		if before, ok := last[e.Key]; ok && place[e.ID] < place[before.ID] {
			v.add("order", "%s came before %s", before, e)
		}
		last[e.Key] = e
	}
}
