package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

const (
	// stillFor is how long the terms of a slot end by errors, and stillTimes how often, before
	// that is an alarm. An unavailable source grants no lease, so it does not count.
	stillFor   = time.Minute
	stillTimes = 3
)

// still is a slot that is stuck at a page.
type still struct {
	first, last time.Time // of the errors since it last made progress
	times       int
	at          stage
	detail      string
}

// stage is a step of a slot's work on records.
type stage int

const (
	elsewhere stage = iota // no stage: the failure is not the source's
	reading                // a page
	settling               // a page that was read
	retrying               // records that are set aside
)

// stageOf returns the stage of an operation of the source.
func stageOf(operation string) stage {
	switch operation {
	case "read":
		return reading
	case "advance", "hold", "held_keys", "count_held":
		return settling
	case "due", "resolve":
		return retrying
	default:
		return elsewhere
	}
}

// patience is how long after an error of a slot the next one must come for both to count as one
// cause. Between two terms of this relay another one may lead.
func patience(c *Config) time.Duration {
	return 2 * max(stillFor, c.BackoffMax, c.Lease)
}

// stands reports whether the slot is stuck as far as this relay knows. It does not know whether
// another relay can go on.
func (u *still) stands(c *Config, now time.Time) bool {
	return u.times >= stillTimes && u.last.Sub(u.first) >= stillFor && now.Sub(u.last) <= patience(c)
}

// standsStill records that an operation of the source ends the term. If a record is the cause,
// every term ends like that.
func (t *term) standsStill(ctx context.Context, operation string, err error) {
	r, u := t.relay, still{at: stageOf(operation)}
	if u.at == elsewhere || errors.Is(err, driver.ErrLeaseLost) {
		return
	}
	if h := t.oldest.Load(); u.at != settling || h == nil { // the source's error names the place of the page
		u.detail = fmt.Sprintf("slot %d: %s: %s", t.slot, operation, err)
	} else {
		u.detail = fmt.Sprintf("slot %d: %s at record %d of topic %q: %s", t.slot, operation, h.seq, h.topic, err)
	}
	if u = r.watch.endedBy(&r.cfg, t.slot, u); u.stands(&r.cfg, u.last) {
		r.watch.raise(ctx, r, standing{kind: AlarmStuck, slot: t.slot, page: true}, outbox.AlarmEvent{Kind: AlarmStuck, Detail: r.named() + u.detail})
	}
}

// goesOn records that the term has passed a stage.
func (t *term) goesOn(at stage) {
	if w := &t.relay.watch; w.wentOn(t.slot, at) {
		w.clear(standing{kind: AlarmStuck, slot: t.slot, page: true})
	}
}

// named returns the source, as it is logged, followed by a detail.
func (r *Relay) named() string {
	if v, ok := r.source.(slog.LogValuer); ok {
		return v.LogValue().String() + ": "
	}
	return ""
}

// standstill describes, for operators, a slot that is stuck, "" if none is. The caller holds
// w.mu.
func (w *watch) standstill(c *Config, now time.Time) string {
	for _, u := range w.still {
		if u.stands(c, now) {
			return u.detail
		}
	}
	return ""
}

// wentOn reports whether the slot was stuck there before.
func (w *watch) wentOn(slot int, at stage) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, before := w.still[slot]
	if before = before && u.at == at; before {
		delete(w.still, slot)
	}
	return before
}

// endedBy adds an error to those of the slot.
func (w *watch) endedBy(c *Config, slot int, u still) still {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	u.first, u.last, u.times = now, now, 1
	if before := w.still[slot]; now.Sub(before.last) <= patience(c) {
		u.first, u.times = before.first, before.times+1
	}
	if w.still == nil {
		w.still = make(map[int]still)
	}
	w.still[slot] = u
	return u
}

// forget clears the alarms of slots that another relay has led for long: the slot makes progress
// there.
func (w *watch) forget(c *Config) {
	now := time.Now()
	var over []int
	w.mu.Lock()
	for slot, u := range w.still {
		if now.Sub(u.last) > patience(c) {
			over = append(over, slot)
			delete(w.still, slot)
		}
	}
	w.mu.Unlock()
	for _, slot := range over {
		w.clear(standing{kind: AlarmStuck, slot: slot, page: true})
	}
}
