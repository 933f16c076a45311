package relay

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// resolve stores the verdicts on held records that were sent.
func (h *heldRecords) resolve(work context.Context, picks []*driver.Held, records []outbox.Record, results []outbox.Result, took time.Duration) error {
	s := h.s
	probed := h.breakers.outAmong(records) // before the call
	h.breakers.learn(work, records, results, took)
	if err := firstFailure(results); err != nil {
		h.breakers.onFailure(work, err)
	}
	verdicts, events := h.verdicts(work, records, picks, results, probed)
	staysDue := h.staysDue(records, len(verdicts))
	if len(verdicts) == 0 && staysDue {
		// Nothing has changed, and no breaker determines when to try again.
		h.dueAt = time.Now().Add(s.retry.Next())
		return nil
	}
	if len(verdicts) > 0 {
		var free []driver.Key
		parks := slices.ContainsFunc(verdicts, func(v driver.Verdict) bool { return v.Fate == driver.FatePark })
		err := parking(work, parks, func() (err error) {
			free, err = h.holder.Resolve(work, verdicts)
			return err
		})
		if err != nil {
			return s.term.fault(work, "resolve", err)
		}
		h.noteResolved(verdicts, free)
		s.term.goesOn(retrying)
		s.relay.onHold(work, events)
	}
	h.dueMore = h.dueMore || staysDue
	h.schedule(time.Now())
	h.show()
	return nil
}

// staysDue reports whether a record without a verdict is of a topic that is not out.
func (h *heldRecords) staysDue(records []outbox.Record, verdicts int) bool {
	return verdicts < len(records) && slices.ContainsFunc(records, func(r outbox.Record) bool {
		return h.breakers.out(r.Topic) == nil
	})
}

// verdicts decides about each record that was sent. A record whose failure is not an attempt
// has no verdict: it stays as it is.
func (h *heldRecords) verdicts(work context.Context, records []outbox.Record, picks []*driver.Held, results []outbox.Result, probed map[string]bool) ([]driver.Verdict, []HoldEvent) {
	var verdicts []driver.Verdict
	var events []HoldEvent
	now, cfg := time.Now(), &h.s.relay.cfg
	for i := range records {
		r, err := &records[i], results[i].Err
		v := driver.Verdict{Record: r, Fate: driver.FateDelivered}
		attempts := picks[i].Attempts
		if err != nil {
			kind := outbox.KindOf(err)
			if !isAttempt(kind, h.breakers.out(r.Topic) != nil, probed[r.Topic]) {
				continue
			}
			attempts++
			v.Attempts = []driver.Attempt{attempt(now, err)}
			v.Fate, v.Reason = h.s.verdict(work, r.Topic, kind, attempts)
			v.RetryIn = cfg.retryIn(attempts)
		}
		verdicts = append(verdicts, v)
		events = append(events, HoldEvent{Record: r, Fate: v.Fate, Attempts: attempts, Reason: v.Reason, Error: lastError(v.Attempts)})
	}
	return verdicts, events
}

// noteResolved records verdicts that were stored. free are the keys that are no longer held.
func (h *heldRecords) noteResolved(verdicts []driver.Verdict, free []driver.Key) {
	now := time.Now()
	for _, key := range free {
		delete(h.keys, key)
	}
	for i := range verdicts {
		v := &verdicts[i]
		retry, known := h.retries[v.Record.Seq]
		delete(h.retries, v.Record.Seq)
		if v.Fate == driver.FateRetry {
			if !known {
				retry = pendingRetry{topic: v.Record.Topic, created: v.Record.CreatedAt, held: now}
			}
			retry.at = now.Add(v.RetryIn)
			h.retries[v.Record.Seq] = retry
		}
		if !isFinal(v.Fate) {
			continue
		}
		h.count = max(h.count-1, len(h.keys))
		h.dueMore = true // the next of its key is due, or a page of large records has left some out
		if v.Fate == driver.FateDelivered {
			h.s.term.acked.Add(1)
			h.s.retry.Reset()
		}
	}
	h.clearFull()
}
