package relay

import (
	"context"
	"log/slog"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// heldRecords are the records of a slot that are set aside: their keys, and when to try them
// again. The sender's goroutine owns them.
type heldRecords struct {
	s        *sender
	breakers *breakers
	holder   driver.Holder // nil if the session cannot set records aside

	keys    map[driver.Key]struct{}
	count   int                    // number of records, as far as is known
	retries map[int64]pendingRetry // by Seq

	dueAt   time.Time     // when to ask for due records next
	dueMore bool          // some are due now, as far as is known
	dueTook time.Duration // how long the last Due has taken

	counted  time.Time // when the holder was last asked for count
	hastened time.Time // when hasten was last called
	full     bool      // AlarmHeldCap is raised
}

// pendingRetry is a record that this term will try again.
type pendingRetry struct {
	at      time.Time
	missed  bool // it should have been due, and was not found
	topic   string
	created time.Time
	held    time.Time
}

// possible reports whether records can be set aside.
func (h *heldRecords) possible() bool { return h.holder != nil }

// load finds out which keys are held.
func (h *heldRecords) load(work context.Context) error {
	if !h.possible() {
		return nil
	}
	keys, err := h.holder.HeldKeys(work)
	if err != nil {
		return h.s.term.fault(work, "held_keys", err)
	}
	if err := h.hasten(work); err != nil {
		return err
	}
	h.keys = make(map[driver.Key]struct{}, len(keys))
	for _, key := range keys {
		h.keys[key] = struct{}{}
	}
	h.count = len(keys)
	h.sayParked(work)
	h.retries = make(map[int64]pendingRetry)
	h.dueMore = true
	h.dueAt = time.Now()
	h.show()
	return nil
}

// sayParked logs that a policy which parks nothing does not change records that are parked
// already.
func (h *heldRecords) sayParked(ctx context.Context) {
	r, n := h.s.relay, 0
	for key := range h.keys {
		if r.cfg.policy(key.Topic).Action != Park {
			n++
		}
	}
	if n > 0 {
		r.log.WarnContext(ctx, "keys have records that are set aside, and their policy parks nothing any more; what is parked stays parked until it is redriven or dropped",
			slog.Int("keys", n), slog.Int("slot", h.s.term.slot))
	}
}

// show publishes the numbers of held records for State.
func (h *heldRecords) show() {
	v := heldView{records: h.count, keys: len(h.keys)}
	for _, p := range h.retries {
		if h.breakers.out(p.topic) != nil {
			continue
		}
		if v.oldest.IsZero() || p.created.Before(v.oldest) {
			v.oldest, v.since, v.topic = p.created, p.held, p.topic
		}
	}
	h.s.term.heldView.Store(&v)
}

// waiting returns the number of the topic's records that this term will try again.
func (h *heldRecords) waiting(topic string) int {
	n := 0
	for _, p := range h.retries {
		if p.topic == topic {
			n++
		}
	}
	return n
}

// keyOf returns the key of r.
func keyOf(r *outbox.Record) driver.Key {
	return driver.Key{Topic: r.Topic, Key: r.Key}
}

// isFinal reports whether a record with this fate is no longer held.
func isFinal(f driver.Fate) bool {
	return f == driver.FateDelivered || f == driver.FateDead || f == driver.FateSkip
}
