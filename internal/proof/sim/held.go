package sim

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// heldRow is a record that was set aside: it is tried again at next, waits behind an
// earlier one of its key, or is parked.
type heldRow struct {
	record   outbox.Record
	fate     driver.Fate // FateRetry, FateWait or FatePark
	next     time.Duration
	attempts int
}

func keyOf(r *outbox.Record) driver.Key {
	return driver.Key{Topic: r.Topic, Key: r.Key}
}

// head returns the first held record of key. It returns nil if there is none, or if the key is empty.
func (d *db) head(key driver.Key) *heldRow {
	if key.Key == "" {
		return nil
	}
	for _, h := range d.held {
		if keyOf(&h.record) == key {
			return h
		}
	}
	return nil
}

// find returns the held record of number seq, or nil.
func (d *db) find(seq int64) *heldRow {
	for _, h := range d.held {
		if h.record.Seq == seq {
			return h
		}
	}
	return nil
}

// HeldKeys implements driver.Holder.
func (s *session) HeldKeys(ctx context.Context) (keys []driver.Key, err error) {
	err = s.write(ctx, "held keys", "", func() error {
		for _, h := range s.db.held {
			if key := keyOf(&h.record); !s.db.goesOn(h) && key.Key != "" && s.reads(&h.record) && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
		return nil
	})
	return keys, err
}

// CountHeld implements driver.Holder.
func (s *session) CountHeld(ctx context.Context) (n int, err error) {
	err = s.write(ctx, "count held", "", func() error {
		for _, h := range s.db.held {
			if s.reads(&h.record) {
				n++
			}
		}
		return nil
	})
	return n, err
}

// Hold implements driver.Holder.
func (s *session) Hold(ctx context.Context, p driver.Page, n int, h []driver.Holding) error {
	last := highest(p.Records[:n])
	h = slices.Clone(h)
	return s.write(ctx, "hold", "", func() error {
		before := s.slot.pos.last
		if no, _ := p.Cursor.(int64); no == s.slot.pos.no {
			for _, one := range h {
				if r := &p.Records[one.Index]; r.Seq > before && s.db.find(r.Seq) == nil {
					s.db.hold(s.node, *r, one)
				}
			}
		}
		return s.pass(p, last)
	})
}

// goesOn reports whether a broken rule allows the key of h to go on.
func (d *db) goesOn(h *heldRow) bool {
	switch d.w.broken {
	case HeldForgotten:
		return true
	case RetryAside:
		return h.fate != driver.FatePark
	case ParkedAlone:
		return h.fate == driver.FatePark
	default:
		return false
	}
}

// hold sets one record aside.
func (d *db) hold(n *Node, r outbox.Record, one driver.Holding) {
	h := &heldRow{record: r, fate: one.Fate, next: d.w.now() + one.RetryIn, attempts: len(one.Attempts)}
	final := one.Fate == driver.FateDead || one.Fate == driver.FateSkip
	switch first := d.head(keyOf(&r)); {
	case final:
	case first == nil && one.Fate == driver.FateWait:
		h.fate, h.next = driver.FateRetry, d.w.now() // the record that it would wait for is gone
	case first != nil:
		h.fate = driver.FateWait
	}
	e := recordEvent(HeldBack, n, &r)
	e.N, e.Note = int64(len(one.Attempts)), h.fate.String()
	d.w.note(e)
	if final {
		d.given[r.ID] = true
	} else {
		at, _ := slices.BinarySearchFunc(d.held, r.Seq, func(h *heldRow, seq int64) int { return int(h.record.Seq - seq) })
		d.held = slices.Insert(d.held, at, h)
	}
}

// Hasten implements driver.Holder. It does nothing, since the clock of a simulation is never set.
func (s *session) Hasten(context.Context, time.Duration) error { return nil }

// Due implements driver.Holder.
func (s *session) Due(ctx context.Context, limit int, except []string) (due []driver.Held, err error) {
	err = s.write(ctx, "due", "", func() error {
		ready := make(map[driver.Key]bool)
		for _, h := range s.db.held {
			key := keyOf(&h.record)
			switch {
			case len(due) == limit:
				return nil
			case !s.reads(&h.record) || slices.Contains(except, h.record.Topic):
				continue
			case h.fate == driver.FateRetry && h.next <= s.db.w.now():
				ready[key] = true
			case h.fate == driver.FateWait && ready[key]:
			default:
				continue
			}
			one := driver.Held{Record: h.record, Attempts: h.attempts}
			if s.db.w.broken == OtherPayload {
				one.Payload = []byte("another")
			}
			due = append(due, one)
		}
		return nil
	})
	return due, err
}

// Resolve implements driver.Holder.
func (s *session) Resolve(ctx context.Context, verdicts []driver.Verdict) (free []driver.Key, err error) {
	verdicts = slices.Clone(verdicts)
	err = s.write(ctx, "resolve", "", func() error {
		for i := range verdicts {
			s.db.resolve(s.node, &verdicts[i])
		}
		for i := range verdicts {
			key := keyOf(verdicts[i].Record)
			switch h := s.db.head(key); {
			case h == nil && key.Key != "" && !slices.Contains(free, key):
				free = append(free, key)
			case h != nil && h.fate == driver.FateWait:
				h.fate, h.next = driver.FateRetry, s.db.w.now()
			}
		}
		return nil
	})
	return free, err
}

// resolve stores what happened to one held record.
func (d *db) resolve(n *Node, v *driver.Verdict) {
	h := d.find(v.Record.Seq)
	if h == nil {
		return
	}
	e := recordEvent(Resolved, n, &h.record)
	e.N, e.Note = int64(len(v.Attempts)), v.Fate.String()
	d.w.note(e)
	h.attempts += len(v.Attempts)
	switch v.Fate {
	case driver.FateRetry:
		h.fate, h.next = driver.FateRetry, d.w.now()+v.RetryIn
	case driver.FatePark:
		h.fate = driver.FatePark
	case driver.FateDelivered, driver.FateDead, driver.FateSkip:
		d.given[h.record.ID] = v.Fate != driver.FateDelivered
		d.held = slices.DeleteFunc(d.held, func(other *heldRow) bool { return other == h })
	case driver.FateWait:
	}
}

// redrive makes the first parked record due again, as operators do, and returns it. It returns nil if
// nothing is parked.
func (d *db) redrive() *outbox.Record {
	for _, h := range d.held {
		if h.fate != driver.FatePark {
			continue
		}
		h.fate, h.next, h.attempts = driver.FateRetry, d.w.now(), 0
		d.w.note(Event{What: Redriven, Node: "people", ID: h.record.ID, Topic: h.record.Topic, Key: h.record.Key, Seq: h.record.Seq})
		return &h.record
	}
	return nil
}
