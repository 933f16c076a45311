package relay

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// mostDue bounds the held records that are sent at once.
const mostDue = 500

// dueIfTime delivers held records that are due, if it is time to look.
func (t *term) dueIfTime(stop, work context.Context) error {
	if t.holder != nil && stop.Err() == nil && !time.Now().Before(t.dueAt) {
		return t.due(stop, work)
	}
	return nil
}

// finishHeld ends the sender: where the term is to end with everything
// delivered, it stays until no record that it knows of is to be tried again.
func (t *term) finishHeld(stop, work context.Context) error {
	for t.once && t.holder != nil && (t.dueMore || len(t.retries) > 0) {
		if !wait.Full(stop, time.Until(t.dueAt)) {
			t.drained.Store(false)
			return nil
		}
		if err := t.dueIfTime(stop, work); err != nil {
			return err
		}
	}
	return nil
}

// due sends held records that are due, one call of the sink, and stores what
// became of them.
func (t *term) due(stop, work context.Context) error {
	t.breakers.checkUnavailable(work)
	now := time.Now()
	limit := min(t.relay.cfg.PageSize, mostDue)
	held, err := t.holder.Due(work, limit, t.breakers.waiting(now))
	if err != nil {
		return t.fault(work, "due", err)
	}
	t.dueCost = time.Since(now)
	t.dueMore = len(held) == limit
	picks := t.pick(held)
	if len(picks) == 0 {
		t.dueMore = false
		t.forgetRetries(now)
		t.schedule(now)
		t.showHeld()
		return nil
	}
	records := make([]outbox.Record, len(picks))
	for i, h := range picks {
		records[i] = h.Record
	}
	results, took, err := t.call(stop, work, records)
	if work.Err() != nil {
		return context.Cause(work)
	}
	if err != nil {
		t.relay.onError(work, "send", err)
		t.dueAt = time.Now().Add(t.retry.Next())
		return nil
	}
	return t.resolve(work, picks, records, results, took)
}

// pick returns what is to be sent of held: all but those of destinations that
// are out, of which only the first of the key that has failed least often is.
func (t *term) pick(held []driver.Held) []*driver.Held {
	picks := make([]*driver.Held, 0, len(held))
	probes := make(map[string]int) // places in picks
	seen := make(map[driver.Key]bool)
	for i := range held {
		h := &held[i]
		if t.breakers.out(h.Topic) == nil {
			picks = append(picks, h)
			continue
		}
		if key := keyOf(&h.Record); h.Key != "" {
			if seen[key] {
				continue
			}
			seen[key] = true
		}
		at, ok := probes[h.Topic]
		switch {
		case !ok:
			probes[h.Topic] = len(picks)
			picks = append(picks, h)
		case h.Attempts < picks[at].Attempts:
			picks[at] = h
		}
	}
	return picks
}

// resolve stores what became of held records that were sent.
func (t *term) resolve(work context.Context, picks []*driver.Held, records []outbox.Record, results []outbox.Result, took time.Duration) error {
	probing := t.breakers.outAmong(records) // before the call
	t.breakers.learn(work, records, results, took)
	if err := firstFailure(results); err != nil {
		t.relay.onError(work, "send", err)
	}
	verdicts, events, parks := t.verdicts(records, picks, results, probing)
	stays := t.staysDue(records, len(verdicts))
	if len(verdicts) == 0 && stays {
		// Nothing came of it, and no breaker says when to try again.
		t.dueAt = time.Now().Add(t.retry.Next())
		return nil
	}
	if len(verdicts) > 0 {
		var free []driver.Key
		err := around(work, parks, func() (err error) {
			free, err = t.holder.Resolve(work, verdicts)
			return err
		})
		if err != nil {
			return t.fault(work, "resolve", err)
		}
		t.resolved(verdicts, free)
		t.relay.onHold(work, events)
	}
	t.dueMore = t.dueMore || stays
	t.schedule(time.Now())
	t.showHeld()
	return nil
}

// staysDue says whether a record without a verdict, of which there are so many,
// is for a destination that is not out.
func (t *term) staysDue(records []outbox.Record, verdicts int) bool {
	return verdicts < len(records) && slices.ContainsFunc(records, func(r outbox.Record) bool {
		return t.breakers.out(r.Topic) == nil
	})
}

// verdicts decides what becomes of each record that was sent. One whose
// destination is out stays as it is.
func (t *term) verdicts(records []outbox.Record, picks []*driver.Held, results []outbox.Result, probing map[string]bool) ([]driver.Verdict, []HoldEvent, bool) {
	var verdicts []driver.Verdict
	var events []HoldEvent
	parks := false
	now := time.Now()
	for i := range records {
		r, err := &records[i], results[i].Err
		kind := outbox.KindOf(err)
		v := driver.Verdict{Record: r, Fate: driver.FateDelivered}
		attempts := picks[i].Attempts
		switch {
		case err == nil:
		case kind == outbox.FailureNotSent || kind == outbox.FailureOutage,
			kind == outbox.FailureUnknown && t.breakers.out(r.Topic) != nil && !probing[r.Topic]:
			continue
		default:
			attempts++
			v.Attempts = []driver.Attempt{attempt(now, err)}
			v.Fate, v.Reason = t.relay.cfg.verdict(r.Topic, kind, attempts)
			v.RetryIn = t.relay.cfg.retryIn(attempts)
		}
		parks = parks || v.Fate == driver.FatePark
		verdicts = append(verdicts, v)
		events = append(events, HoldEvent{Record: r, Fate: v.Fate, Attempts: attempts, Reason: v.Reason})
	}
	return verdicts, events, parks
}

// resolved takes in what was stored.
func (t *term) resolved(verdicts []driver.Verdict, free []driver.Key) {
	now := time.Now()
	for _, key := range free {
		delete(t.heldKeys, key)
	}
	for i := range verdicts {
		v := &verdicts[i]
		before, known := t.retries[v.Record.Seq]
		delete(t.retries, v.Record.Seq)
		if v.Fate == driver.FateRetry {
			if !known {
				before = pendingRetry{topic: v.Record.Topic, created: v.Record.CreatedAt, held: now}
			}
			before.at = now.Add(v.RetryIn)
			t.retries[v.Record.Seq] = before
		}
		if !isFinal(v.Fate) {
			continue
		}
		t.held = max(t.held-1, len(t.heldKeys))
		t.dueMore = true // the next of its key is due, or what a page of large records has left out
		if v.Fate == driver.FateDelivered {
			t.acked.Add(1)
			t.retry.Reset()
		}
	}
	t.uncap()
}

// forgetRetries forgets records that should be due and were not found: an operator
// has dealt with them.
func (t *term) forgetRetries(now time.Time) {
	for seq, p := range t.retries {
		if d := t.breakers.out(p.topic); p.at.Before(now) && (d == nil || t.breakers.mayProbe(d, now)) {
			delete(t.retries, seq)
		}
	}
}
