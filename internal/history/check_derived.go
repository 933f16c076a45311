package history

// checkDerived: the events that effects have produced are on the broker or wait, and each event on
// the broker that names a cause was produced by the effect of that cause.
func (x *index) checkDerived(q *inquiry) {
	switch {
	case !x.ended[EffectRow] || !x.ended[Record]:
		q.finding.Unjudged = "there is no dump of topics and effects"
		return
	case !x.causes:
		q.finding.Unjudged = "effects produce no events here"
		return
	}
	for _, f := range x.effects {
		if f.child == f.event {
			continue
		}
		q.finding.Checked++
		if !x.events[f.child].is(published | waiting) {
			q.violate(f.row, "the effect of %s at row %d has produced %s, which is in no topic and waits nowhere",
				ref(f.event), f.row, ref(f.child))
		}
	}
	for e, copies := range x.copies {
		c := copies[0]
		if !e.is(caused) {
			continue
		}
		q.finding.Checked++
		switch {
		case !e.is(child):
			q.violate(c.offset, "%s at offset %d of %s says that it comes of %s, whose effect has not produced it",
				ref(c.event), c.offset, x.topics.text(c.topic), ref(c.cause))
		case c.cause != e.parent:
			q.violate(c.offset, "%s at offset %d of %s says that it comes of %s, but it comes of %s",
				ref(c.event), c.offset, x.topics.text(c.topic), ref(c.cause), ref(e.parent))
		}
	}
}
