package relay

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// takeResults acts on the results of one call of the sink: places are those of its records in the page.
func (d *pageDelivery) takeResults(work context.Context, places []int, records []outbox.Record, results []outbox.Result, took time.Duration) {
	bs := d.m.breakers
	d.failure = firstFailure(results)
	if d.failure == nil && bs.openCount == 0 {
		bs.lastAck = time.Now()
		d.removeTodo(places)
		return
	}
	probed := bs.outAmong(records) // before the call
	bs.learn(work, records, results, took)
	gone := make([]int, 0, len(places))
	for i, place := range places {
		if results[i].Err == nil || d.takeFailure(work, place, results[i].Err, probed[records[i].Topic]) {
			gone = append(gone, place)
		}
	}
	d.removeTodo(gone)
	// Records of topics that are out may have to be set aside.
	d.moved = d.moved || d.m.held.possible() && bs.openCount > 0
}

// takeFailure decides about a record whose delivery has failed, and reports whether it was set
// aside. probe is set if its topic was out before.
func (d *pageDelivery) takeFailure(work context.Context, place int, err error, probe bool) bool {
	r, cfg := &d.page.Records[place], &d.m.s.relay.cfg
	kind, out := outbox.KindOf(err), d.m.breakers.out(r.Topic) != nil
	if !isAttempt(kind, out, probe) {
		return false
	}
	d.attempts[place] = append(d.attempts[place], attempt(time.Now(), err))
	n := len(d.attempts[place])
	fate, reason := d.m.s.verdict(work, r.Topic, kind, n)
	if fate == driver.FateRetry && kind != outbox.FailurePermanent && (n == 1 || out) {
		d.moved = d.moved || !out
		return false
	}
	return d.hold(place, driver.Holding{Fate: fate, Attempts: d.attempts[place], RetryIn: cfg.retryIn(n), Reason: reason})
}

// removeTodo removes places, which ascend, from the remaining ones.
func (d *pageDelivery) removeTodo(places []int) {
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
