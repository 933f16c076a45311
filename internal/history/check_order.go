package history

import (
	"cmp"
	"slices"
)

// checkOrder is O5: in each key of a topic the first copies of the committed events
// have ascending versions by offset, all in one partition.
func (x *index) checkOrder(q *inquiry) {
	if !x.ended[Record] {
		q.finding.Unjudged = "there is no dump of topics"
		return
	}
	firsts := x.firstCopies()
	for i := 0; i < len(firsts); {
		j := i + 1
		for j < len(firsts) && firsts[j].topic == firsts[i].topic && firsts[j].key == firsts[i].key {
			j++
		}
		x.checkKey(q, firsts[i:j])
		i = j
	}
}

// firstCopies returns the first record of every event that has an order, by topic,
// key, partition and offset. A record without a key has the key of its event.
func (x *index) firstCopies() []record {
	var firsts []record
	for e, copies := range x.copies {
		if !x.ordered(e) {
			continue
		}
		for i, c := range copies {
			if i > 0 && c.topic == copies[i-1].topic && c.partition == copies[i-1].partition {
				continue
			}
			if c.key != 0 && c.key != e.key {
				continue // of another key than the effect: the order is unknown
			}
			c.key = e.key
			firsts = append(firsts, c)
		}
	}
	slices.SortFunc(firsts, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.key, b.key),
			cmp.Compare(a.partition, b.partition), cmp.Compare(a.offset, b.offset))
	})
	return firsts
}

// ordered reports whether the event has a place in the order of its key.
func (x *index) ordered(e *event) bool {
	switch x.outcome(e) {
	case committed:
		return e.key != 0
	case derived:
		return e.key != 0 && e.is(child)
	default:
		return false
	}
}

// checkKey looks at the first records of one key of a topic.
func (x *index) checkKey(q *inquiry, key []record) {
	highest := key[0]
	for _, r := range key {
		q.finding.Checked++
		e, top := &x.events[r.event], &x.events[highest.event]
		switch {
		case r.partition != key[0].partition:
			q.violate(r.offset, "%s and %s of key %q are in partitions %d and %d of %s", ref(key[0].event), ref(r.event),
				x.keys.text(r.key), key[0].partition, r.partition, x.topics.text(r.topic))
		case e.version < top.version:
			q.violate(r.offset, "%s, version %d of key %q, is first at offset %d of %s, after %s, version %d, at offset %d",
				ref(r.event), e.version, x.keys.text(r.key), r.offset, x.topics.text(r.topic),
				ref(highest.event), top.version, highest.offset)
		default:
			highest = r
		}
	}
}

// checkEffectOrder: in each key of a consumer the first effects of the events have
// ascending versions by row.
func (x *index) checkEffectOrder(q *inquiry) {
	if !x.ended[EffectRow] {
		q.finding.Unjudged = "there is no dump of effects"
		return
	}
	firsts := x.firstEffects()
	var highest effect
	for i, f := range firsts {
		q.finding.Checked++
		if i == 0 || f.book != highest.book || f.key != highest.key {
			highest = f
			continue
		}
		version, top := x.events[f.event].version, x.events[highest.event].version
		if version >= top {
			highest = f
			continue
		}
		q.violate(f.row, "%s, version %d of key %q, has its first effect at row %d, after %s, version %d, at row %d",
			ref(f.event), version, x.keys.text(f.key), f.row, ref(highest.event), top, highest.row)
	}
	if len(firsts) == 0 && len(x.effects) > 0 {
		q.finding.Unjudged = "no consumer has an order"
	}
}

// firstEffects returns the first effect of every event that has an order, by
// consumer, key and row.
func (x *index) firstEffects() []effect {
	unordered := consumers(0)
	for _, s := range x.subscriptions {
		if s.Unordered {
			unordered |= 1 << x.books.number(s.Consumer)
		}
	}
	var firsts []effect
	for i, f := range x.effects {
		e := &x.events[f.event]
		repeat := i > 0 && x.effects[i-1].book == f.book && x.effects[i-1].event == f.event
		if repeat || unordered.has(f.book) || f.key == 0 || f.key != e.key || !x.rightful(e) || x.outcome(e) == forgotten {
			continue
		}
		firsts = append(firsts, f)
	}
	slices.SortFunc(firsts, func(a, b effect) int {
		return cmp.Or(cmp.Compare(a.book, b.book), cmp.Compare(a.key, b.key), cmp.Compare(a.row, b.row))
	})
	return firsts
}
