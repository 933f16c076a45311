package history

// checkDoubles is I1: at most one effect for each event and consumer, unless the
// consumer allows repeats.
func (x *index) checkDoubles(q *inquiry) {
	if !x.ended[EffectRow] {
		q.finding.Unjudged = "there is no dump of effects"
		return
	}
	lenient := consumers(0)
	for _, s := range x.subscriptions {
		if s.AtLeastOnce {
			lenient |= 1 << x.books.number(s.Consumer)
		}
	}
	for i, f := range x.effects {
		q.finding.Checked++
		if i == 0 || x.effects[i-1].book != f.book || x.effects[i-1].event != f.event {
			continue
		}
		if lenient.has(f.book) {
			q.allowed++
			continue
		}
		q.violate(f.row, "%s has had its effect in %s twice, at rows %d and %d",
			ref(f.event), x.bookName(f.book), x.effects[i-1].row, f.row)
	}
}

// checkGhosts is I2: every effect has a message that was committed and is on the broker, and the
// effect matches the message.
func (x *index) checkGhosts(q *inquiry) {
	if !x.ended[EffectRow] {
		q.finding.Unjudged = "there is no dump of effects"
		return
	}
	for _, f := range x.effects {
		e := &x.events[f.event]
		q.finding.Checked++
		switch {
		case !x.rightful(e):
			q.violate(f.row, "%s had its effect in %s at row %d, but was never committed",
				ref(f.event), x.bookName(f.book), f.row)
		case x.ended[Record] && !e.is(published):
			q.violate(f.row, "%s had its effect in %s at row %d, but is in no topic",
				ref(f.event), x.bookName(f.book), f.row)
		case x.outcome(e) != derived && e.contradicts(f):
			q.violate(f.row, "the effect of %s in %s at row %d is not what the message says",
				ref(f.event), x.bookName(f.book), f.row)
		}
	}
}

// contradicts reports whether the effect states another key, version or movement.
func (e *event) contradicts(f effect) bool {
	return f.key != 0 && f.key != e.key || f.version != 0 && f.version != e.version ||
		f.amount != 0 && f.amount != e.amount || f.to != 0 && f.to != e.to
}

// checkEffects is I3: every message of a topic has its effect at each consumer that reads the
// topic, or is kept there; and an effect that a consumer has reported still exists.
func (x *index) checkEffects(q *inquiry) {
	if !x.ended[EffectRow] {
		q.finding.Unjudged = "there is no dump of effects"
		return
	}
	readers := x.readers()
	for e, copies := range x.copies {
		if !x.rightful(e) {
			continue
		}
		q.finding.Checked++
		expected := consumers(0)
		for _, c := range copies {
			expected |= readers[c.topic]
		}
		if lacks := expected &^ (e.had | e.keeps | x.lostOutside(e)); lacks != 0 {
			q.violate(copies[0].offset, "%s of key %q is at offset %d of %s, has no effect in %s, and is not kept there",
				ref(copies[0].event), x.keys.text(e.key), copies[0].offset, x.topics.text(copies[0].topic), x.anyOf(lacks))
		}
	}
	for i := range x.events {
		e := &x.events[i]
		if gone := e.told &^ e.had &^ x.lost(e); gone != 0 {
			q.violate(e.at, "%s told of its effect of %s, which is gone", x.anyOf(gone), ref(i))
		}
	}
}

// readers returns the consumers of each topic.
func (x *index) readers() map[uint32]consumers {
	readers := map[uint32]consumers{}
	for _, s := range x.subscriptions {
		if s.Topic != "" {
			readers[x.topics.number(s.Topic)] |= 1 << x.books.number(s.Consumer)
		}
	}
	return readers
}

// anyOf names the first of the consumers.
func (x *index) anyOf(c consumers) string {
	for book := range x.books.texts {
		if c.has(uint32(book)) {
			return x.bookName(uint32(book))
		}
	}
	return ""
}

// bookName names a consumer for human readers.
func (x *index) bookName(book uint32) string {
	if book == 0 {
		return "the unnamed consumer"
	}
	return x.books.text(book)
}
