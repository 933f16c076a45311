package relay

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// plan decides what becomes of what is left of the page: it returns the places to
// be sent now and sets others aside. Of a destination that is out at most one
// record is sent.
func (d *delivery) plan(work context.Context, now time.Time) (send []int) {
	d.capped = false
	probes := make(map[*breaker]int)
	left := d.todo[:0]
	mayHold := sync.OnceValue(func() bool { return d.mayHoldForOutage(work, now) })
	for _, i := range d.todo {
		r := &d.page.Records[i]
		dest := d.t.breakers.out(r.Topic)
		switch {
		case d.isHeld(r):
			if !d.hold(i, driver.Holding{Fate: driver.FateWait}) {
				left = append(left, i)
			}
		case d.isGivenUp(r):
			left = append(left, i)
		case dest == nil:
			send, left = append(send, i), append(left, i)
		case d.t.breakers.mayProbe(dest, now):
			d.propose(probes, dest, i)
			left = append(left, i)
		case !dest.refused && !mayHold() || !d.hold(i, driver.Holding{Fate: driver.FateRetry, Attempts: d.tries[i]}):
			left = append(left, i)
		}
	}
	d.todo = left
	for _, i := range probes {
		send = append(send, i)
	}
	slices.Sort(send)
	return send
}

// propose makes place the probe of dest if nothing better was found before it:
// of those that are first of their key, the one that has failed least often.
func (d *delivery) propose(probes map[*breaker]int, dest *breaker, place int) {
	best, ok := probes[dest]
	if !ok {
		probes[dest] = place
		return
	}
	if len(d.tries[place]) >= len(d.tries[best]) {
		return
	}
	r := &d.page.Records[place]
	if r.Key != "" {
		for _, i := range d.todo {
			if i == place {
				break
			}
			if before := &d.page.Records[i]; before.Key == r.Key && before.Topic == r.Topic {
				return
			}
		}
	}
	probes[dest] = place
}

// blindPages is how many times BackoffMax a page waits that is to be set aside
// although no other topic is known.
const blindPages = 12

// mayHoldForOutage says whether records of destinations that are out are to be
// set aside now, so that others can pass. It is asked once a round, and only if
// there are some.
func (d *delivery) mayHoldForOutage(work context.Context, now time.Time) bool {
	t := d.t
	switch {
	case t.holder == nil || t.breakers.openCount == 0:
		return false
	case t.breakers.ackedRecently(now) || !d.onlyOut():
		return t.breakers.seen.anyUp()
	}
	// Nothing shows that any other destination answers, nor that there is any
	// behind this page. Look, but slowly.
	checker, ok := t.relay.sink.(driver.Checker)
	every := t.relay.cfg.BackoffMax
	if !t.breakers.seen.anyUp() {
		every *= blindPages
		if !ok {
			return false
		}
	}
	if t.heldBlind.IsZero() {
		t.heldBlind = now
	}
	if now.Sub(t.heldBlind) < every {
		return false
	}
	t.heldBlind = now
	if !ok {
		return true
	}
	ctx, cancel := context.WithTimeout(work, t.relay.cfg.PublishTimeout)
	defer cancel()
	return checker.Check(ctx) == nil
}

// onlyOut says whether all that is left is for destinations that are out.
func (d *delivery) onlyOut() bool {
	return !slices.ContainsFunc(d.todo, func(i int) bool {
		return d.t.breakers.out(d.page.Records[i].Topic) == nil
	})
}

// isHeld says whether an earlier record of r's key is held, or is going to be.
func (d *delivery) isHeld(r *outbox.Record) bool {
	if r.Key == "" {
		return false
	}
	key := driver.Key{Topic: r.Topic, Key: r.Key}
	if _, held := d.t.heldKeys[key]; held {
		return true
	}
	_, held := d.blocked[key]
	return held
}

// isGivenUp says whether an earlier record of r's key is given up and that is not
// stored yet.
func (d *delivery) isGivenUp(r *outbox.Record) bool {
	if r.Key == "" || len(d.givenUp) == 0 {
		return false
	}
	_, givenUp := d.givenUp[keyOf(r)]
	return givenUp
}

// hold sets the record at place aside, once the position has come to it. It
// reports false where that cannot be.
func (d *delivery) hold(place int, h driver.Holding) bool {
	t := d.t
	if t.holder == nil {
		return false
	}
	if h.Fate != driver.FateDead && h.Fate != driver.FateSkip {
		if t.held+len(d.holdings) >= t.relay.cfg.MaxHeld {
			d.capped = true
			return false
		}
		if r := &d.page.Records[place]; r.Key != "" {
			d.blocked[driver.Key{Topic: r.Topic, Key: r.Key}] = struct{}{}
		}
	} else if r := &d.page.Records[place]; r.Key != "" {
		d.givenUp[keyOf(r)] = place
	}
	h.Index = place
	d.holdings = append(d.holdings, h)
	d.moved = true
	return true
}

// judge takes in the sink's answer to one call with the records of places.
func (d *delivery) judge(work context.Context, places []int, records []outbox.Record, results []outbox.Result, took time.Duration) {
	t := d.t
	d.failure = firstFailure(results)
	if d.failure == nil && t.breakers.openCount == 0 {
		t.breakers.lastAck = time.Now()
		d.removeTodo(places)
		return
	}
	probing := t.breakers.outAmong(records) // before the call
	t.breakers.learn(work, records, results, took)
	gone := make([]int, 0, len(places))
	for i, place := range places {
		if results[i].Err == nil || d.fail(place, results[i].Err, probing[records[i].Topic]) {
			gone = append(gone, place)
		}
	}
	d.removeTodo(gone)
	// What waits for a destination that is out may have to be set aside.
	d.moved = d.moved || t.holder != nil && t.breakers.openCount > 0
}

// removeTodo takes places, which ascend, off what is left to do.
func (d *delivery) removeTodo(places []int) {
	if len(places) == 0 {
		return
	}
	d.moved = true
	d.todo = slices.DeleteFunc(d.todo, func(i int) bool {
		if len(places) > 0 && places[0] == i {
			places = places[1:]
			return true
		}
		return false
	})
}

// fail decides what becomes of a record whose delivery has failed. It reports
// whether it is set aside.
func (d *delivery) fail(place int, err error, probe bool) bool {
	t := d.t
	r := &d.page.Records[place]
	kind := outbox.KindOf(err)
	out := t.breakers.out(r.Topic) != nil
	if kind == outbox.FailureNotSent || kind == outbox.FailureOutage || kind == outbox.FailureUnknown && out && !probe {
		return false
	}
	d.tries[place] = append(d.tries[place], attempt(time.Now(), err))
	n := len(d.tries[place])
	fate, reason := t.relay.cfg.verdict(r.Topic, kind, n)
	if fate == driver.FateRetry && kind != outbox.FailurePermanent && (n == 1 || out) {
		d.moved = d.moved || !out
		return false
	}
	return d.hold(place, driver.Holding{Fate: fate, Attempts: d.tries[place], RetryIn: t.relay.cfg.retryIn(n), Reason: reason})
}
