package relay

import (
	"context"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// maxDue bounds the held records that are sent at once.
const maxDue = 500

// retryIfDue delivers held records that are due, if it is time to ask for them.
func (h *heldRecords) retryIfDue(stop, work context.Context) error {
	if h.possible() && !isOver(stop) && !time.Now().Before(h.dueAt) {
		return h.retryDue(stop, work)
	}
	return nil
}

// finish ends the sender. A term that runs once ends only when no record is left that it
// is to try again.
func (h *heldRecords) finish(stop, work context.Context) error {
	t := h.s.term
	for t.once && h.possible() && (h.dueMore || len(h.retries) > 0) {
		if h.onlyPaused() {
			return errLeft
		}
		if !wait.Full(stop, time.Until(h.dueAt)) {
			t.drained.Store(false)
			return nil
		}
		if err := h.retryIfDue(stop, work); err != nil {
			return err
		}
	}
	return nil
}

// retryDue sends held records that are due in one call of the sink, and stores the verdicts. It
// does not ask for them if the reader has just seen that nothing is set aside.
func (h *heldRecords) retryDue(stop, work context.Context) error {
	h.breakers.checkUnavailable(work)
	s, now := h.s, time.Now()
	if at := h.s.term.noneHeld.Load(); at != nil && !h.dueMore && len(h.retries) == 0 && now.Sub(*at) < s.relay.cfg.PollMax {
		s.term.goesOn(retrying)
		h.schedule(*at)
		return nil
	}
	if err := h.hastenOthers(work); err != nil {
		return err
	}
	limit := min(s.relay.cfg.PageSize, maxDue)
	due, err := h.holder.Due(work, limit, h.breakers.waiting(now))
	if err != nil {
		return s.term.fault(work, "due", err)
	}
	h.dueTook = time.Since(now)
	h.dueMore = len(due) == limit
	picks := h.pick(due)
	if len(picks) == 0 {
		h.dueMore = false
		s.term.goesOn(retrying)
		if h.forgetRetries(now) {
			if err := h.hasten(work); err != nil {
				return err
			}
		}
		h.schedule(now)
		h.show()
		return nil
	}
	records := make([]outbox.Record, len(picks))
	for i, p := range picks {
		records[i] = p.Record
	}
	results, took, err := s.send(stop, work, records)
	if work.Err() != nil {
		return context.Cause(work)
	}
	if err != nil {
		s.relay.onError(work, "send", err)
		h.dueAt = time.Now().Add(s.retry.Next())
		return nil
	}
	return h.resolve(work, picks, records, results, took)
}

// pick returns the due records to send: all records of topics that are not out, and one record as
// a probe for each topic that is out. That is the one with the fewest attempts among the records
// that are first of their key.
func (h *heldRecords) pick(due []driver.Held) []*driver.Held {
	picks := make([]*driver.Held, 0, len(due))
	probes := make(map[string]int) // places in picks
	seen := make(map[driver.Key]bool)
	for i := range due {
		r := &due[i]
		if h.breakers.out(r.Topic) == nil {
			picks = append(picks, r)
			continue
		}
		if key := keyOf(&r.Record); r.Key != "" {
			if seen[key] {
				continue
			}
			seen[key] = true
		}
		at, ok := probes[r.Topic]
		switch {
		case !ok:
			probes[r.Topic] = len(picks)
			picks = append(picks, r)
		case r.Attempts < picks[at].Attempts:
			picks[at] = r
		}
	}
	return picks
}

// schedule sets dueAt: at once if some records are due, as far as is known, otherwise when the
// first one will be. It is within PollMax in any case, since operators redrive records, too. But
// if Due takes long, as with thousands of topics that are out, it is called less often, so that
// it takes a tenth of the time at most.
func (h *heldRecords) schedule(now time.Time) {
	if h.dueMore {
		h.dueAt = now
		return
	}
	next := now.Add(max(h.s.relay.cfg.PollMax, 10*h.dueTook))
	for _, p := range h.retries {
		at := p.at
		if b := h.breakers.out(p.topic); b != nil && h.breakers.probeAt(b).After(at) {
			at = h.breakers.probeAt(b)
		}
		if at.Before(next) {
			next = at
		}
	}
	h.dueAt = next
}

// hasten ensures that records do not wait for much longer than the longest backoff, as they would
// if the database's clock was ahead when they were set aside.
func (h *heldRecords) hasten(work context.Context) error {
	h.hastened = time.Now()
	if err := h.holder.Hasten(work, 2*h.s.relay.cfg.BackoffMax); err != nil {
		return h.s.term.fault(work, "hasten", err)
	}
	return nil
}

// hastenEvery is how often a relay hastens records that it does not know.
const hastenEvery = 10 * time.Second

// hastenOthers hastens again now and then, if anything is held: this term does not know what an
// earlier one has set aside, and the clock may have been ahead when it began.
func (h *heldRecords) hastenOthers(work context.Context) error {
	if time.Since(h.hastened) < hastenEvery {
		return nil
	}
	h.hastened = time.Now()
	if err := h.recount(work); err != nil || h.count == 0 {
		return err
	}
	return h.hasten(work)
}

// lateBy is by how much a store's clock may be behind what this relay has measured: SQLite's
// counts whole milliseconds, and others are sometimes set back a little.
const lateBy = time.Second

// forgetRetries forgets records that should be due and were not found twice, and reports whether
// there are any: an operator has dealt with them, or the database's clock has moved back. The
// first time the store's clock may just be a little behind.
func (h *heldRecords) forgetRetries(now time.Time) (missing bool) {
	for seq, p := range h.retries {
		b := h.breakers.out(p.topic)
		switch {
		case p.at.After(now) || b != nil && !h.breakers.mayProbe(b, now):
		case p.missed:
			delete(h.retries, seq)
			missing = true
		default:
			p.at, p.missed = now.Add(lateBy), true
			h.retries[seq] = p
		}
	}
	return missing
}
