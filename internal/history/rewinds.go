package history

import "cmp"

// rewind is a period that a database has lost: commits between the two moments are gone from it.
type rewind struct {
	from, until int64
	book        uint32 // the owner of the database; 0 is the producer
}

// outcomeWithin is how long after its intent a transaction can still commit if its producer was
// killed before it recorded the outcome, in microseconds.
const outcomeWithin = 10_000_000

// rewind records a line about a database that went back.
func (x *index) rewind(at place, l *Line) error {
	if l.At == 0 || l.Until < l.At {
		return unusable(at, "a rewind from %d to %d needs at and until, in this order", l.Until, l.At)
	}
	book, err := x.book(at, l.Consumer)
	x.rewinds = append(x.rewinds, rewind{l.At, l.Until, book})
	return err
}

// forgot reports whether the event may have committed in a period that the producer's database has
// lost. Commits that the producer learned of before that period are not excused, nor attempts after
// it, nor rollbacks.
func (x *index) forgot(e *event) bool {
	if e.is(toldAborted) || !e.is(intended) {
		return false
	}
	told := e.toldAt
	told = cmp.Or(told, e.at+outcomeWithin)
	for _, r := range x.rewinds {
		if r.book == 0 && e.at <= r.until && told >= r.from {
			return true
		}
	}
	return false
}

// lost are the consumers whose databases have lost the period of the event's last delivery.
func (x *index) lost(e *event) (all consumers) {
	for _, r := range x.rewinds {
		if r.book != 0 && r.from <= e.consumedAt && e.consumedAt <= r.until {
			all |= 1 << r.book
		}
	}
	return all
}

// lostOutside are those of them whose effects are stored apart from the memory of the message, so
// that the message is not processed again. All others must process it again.
func (x *index) lostOutside(e *event) consumers {
	lost := x.lost(e)
	if lost == 0 {
		return 0
	}
	outside := consumers(0)
	for _, s := range x.subscriptions {
		if s.AtLeastOnce {
			outside |= 1 << x.books.number(s.Consumer)
		}
	}
	return lost & outside
}
