package relay

import (
	"context"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// pendingRetry is a record that this term knows to be tried again.
type pendingRetry struct {
	at      time.Time
	topic   string
	created time.Time
	held    time.Time
}

// loadHeld learns which keys are held, where the session can set records aside.
func (t *term) loadHeld(work context.Context) error {
	holder, ok := t.session.(driver.Holder)
	if !ok || t.relay.cfg.Order == OrderTotal {
		return nil
	}
	if _, exact := t.relay.sink.(driver.TransactionalSink); exact {
		return nil
	}
	keys, err := holder.HeldKeys(work)
	if err != nil {
		return t.fault(work, "held_keys", err)
	}
	t.holder = holder
	t.heldKeys = make(map[driver.Key]struct{}, len(keys))
	for _, key := range keys {
		t.heldKeys[key] = struct{}{}
	}
	t.held = len(keys)
	t.retries = make(map[int64]pendingRetry)
	t.dueMore = true
	t.dueAt = time.Now()
	t.showHeld()
	return nil
}

// hold settles the first n records of page and sets those of h aside.
func (t *term) hold(work context.Context, page driver.Page, n int, h []driver.Holding) error {
	parks := false
	for i := range h {
		parks = parks || h[i].Fate == driver.FatePark
	}
	err := failpoint.Inject(work, failpoint.RelayAckedBeforeAdvance)
	if err == nil {
		err = around(work, parks, func() error { return t.holder.Hold(work, page, n, h) })
	}
	if err != nil {
		return t.fault(work, "hold", err)
	}
	events := make([]HoldEvent, len(h))
	now := time.Now()
	for i := range h {
		r := &page.Records[h[i].Index]
		events[i] = HoldEvent{Record: r, Fate: h[i].Fate, Attempts: len(h[i].Attempts), Reason: h[i].Reason}
		switch h[i].Fate {
		case driver.FateRetry:
			t.retries[r.Seq] = pendingRetry{at: now.Add(h[i].RetryIn), topic: r.Topic, created: r.CreatedAt, held: now}
		case driver.FateDead, driver.FateSkip, driver.FateDelivered:
			continue
		case driver.FateWait, driver.FatePark:
		}
		t.held++
		if r.Key != "" {
			t.heldKeys[driver.Key{Topic: r.Topic, Key: r.Key}] = struct{}{}
		}
	}
	t.schedule(now)
	t.showHeld()
	t.relay.onHold(work, events)
	return nil
}

// around calls f between the failure points of parking, where f parks.
func around(ctx context.Context, parks bool, f func() error) error {
	if !parks {
		return f()
	}
	err := failpoint.Inject(ctx, failpoint.RelayBeforePark)
	if err == nil {
		err = f()
	}
	if err == nil {
		err = failpoint.Inject(ctx, failpoint.RelayAfterPark)
	}
	return err
}

// schedule sets the time of the next look for held records that are due: at
// once where some are known to be, else when the first one is, and within
// PollMax in any case, since operators redrive records, too; less often where a look
// takes long, as with thousands of topics that are out, so that it costs a tenth of
// the time at most.
func (t *term) schedule(now time.Time) {
	if t.dueMore {
		t.dueAt = now
		return
	}
	next := now.Add(max(t.relay.cfg.PollMax, 10*t.dueCost))
	for _, p := range t.retries {
		at := p.at
		if d := t.breakers.out(p.topic); d != nil && t.breakers.probeAt(d).After(at) {
			at = t.breakers.probeAt(d)
		}
		if at.Before(next) {
			next = at
		}
	}
	t.dueAt = next
}

// showHeld publishes what State tells of held records.
func (t *term) showHeld() {
	v := heldView{records: t.held, keys: len(t.heldKeys)}
	for _, p := range t.retries {
		if t.breakers.out(p.topic) != nil {
			continue
		}
		if v.oldest.IsZero() || p.created.Before(v.oldest) {
			v.oldest, v.since, v.topic = p.created, p.held, p.topic
		}
	}
	t.heldView.Store(&v)
}

// recountEvery is how often a relay that is full asks how many records are held.
const recountEvery = 30 * time.Second

// capped counts again now and then, and reports whether there is room after all
// for more than are pending. If not it raises the alarm, once.
func (t *term) capped(work context.Context, pending int) (room bool, err error) {
	if t.counted.IsZero() || time.Since(t.counted) >= recountEvery {
		n, err := t.holder.CountHeld(work)
		if err != nil {
			return false, t.fault(work, "count_held", err)
		}
		t.counted, t.held = time.Now(), n
		t.showHeld()
		t.uncap()
		room = n+pending < t.relay.cfg.MaxHeld
	}
	if !room {
		t.full = true
		t.relay.watch.raise(work, t.relay, Alarm{Kind: AlarmHeldCap, Detail: "MaxHeld is reached; the relay stops at its page until held records are dealt with"})
	}
	return room, nil
}

// uncap ends the alarm where there is room again, so that the next one is heard.
func (t *term) uncap() {
	if t.full && t.held < t.relay.cfg.MaxHeld {
		t.full = false
		t.relay.watch.clear(AlarmHeldCap)
	}
}

// isFinal says whether a record with this fate is held no longer.
func isFinal(f driver.Fate) bool {
	return f == driver.FateDelivered || f == driver.FateDead || f == driver.FateSkip
}

// keyOf returns the key of r.
func keyOf(r *outbox.Record) driver.Key {
	return driver.Key{Topic: r.Topic, Key: r.Key}
}
