package relay

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// blindPages is how many times BackoffMax a page waits before it is set aside although no
// other topic is known.
const blindPages = 12

// mayHoldForOutage reports whether records of topics that are out should be set aside now, so
// that others can pass. It is called at most once per round.
func (d *pageDelivery) mayHoldForOutage(work context.Context, now time.Time) bool {
	m, bs := d.m, d.m.breakers
	switch {
	case !m.held.possible() || bs.openCount == 0:
		return false
	case bs.ackedRecently(now) || !d.onlyOut():
		return bs.seen.anyUp()
	}
	// Nothing shows that another topic is up, nor that records of one come after this page. Go on
	// to look for some, but slowly.
	cfg := &m.s.relay.cfg
	checker, ok := m.s.relay.sink.(driver.Checker)
	every := cfg.BackoffMax
	if !bs.seen.anyUp() {
		every *= blindPages
		if !ok {
			return false
		}
	}
	if m.lastBlindHold.IsZero() {
		m.lastBlindHold = now
	}
	if now.Sub(m.lastBlindHold) < every {
		return false
	}
	m.lastBlindHold = now
	if !ok {
		return true
	}
	ctx, cancel := context.WithTimeout(work, cfg.PublishTimeout)
	defer cancel()
	return checker.Check(ctx) == nil
}

// onlyOut reports whether all remaining records are of topics that are out.
func (d *pageDelivery) onlyOut() bool {
	return !slices.ContainsFunc(d.todo, func(i int) bool {
		return d.m.breakers.out(d.page.Records[i].Topic) == nil
	})
}
