package relay

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// plan decides about each remaining record of the page. It returns the places to send now, and
// sets other records aside. For a topic that is out it sends at most one record, as a probe.
func (d *pageDelivery) plan(work context.Context, now time.Time) (send []int) {
	d.full = false
	if d.m.s.relay.pauses.all() {
		return nil // and nothing is set aside
	}
	bs := d.m.breakers
	probes := make(map[*breaker]int)
	left := d.todo[:0]
	mayHold := sync.OnceValue(func() bool { return d.mayHoldForOutage(work, now) })
	for _, i := range d.todo {
		r := &d.page.Records[i]
		b := bs.out(r.Topic)
		switch {
		case d.isHeld(r):
			if !d.hold(i, driver.Holding{Fate: driver.FateWait}) {
				left = append(left, i)
			}
		case d.isGivenUp(r):
			left = append(left, i)
		case b == nil:
			send, left = append(send, i), append(left, i)
		case bs.mayProbe(b, now):
			d.chooseProbe(probes, b, i)
			left = append(left, i)
		case !b.refused && !mayHold() || !d.hold(i, driver.Holding{Fate: driver.FateRetry, Attempts: d.attempts[i]}):
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

// chooseProbe makes the record at place the probe of b, unless a better one was found before. The
// best is the one with the fewest attempts among the records that are first of their key.
func (d *pageDelivery) chooseProbe(probes map[*breaker]int, b *breaker, place int) {
	best, ok := probes[b]
	if !ok {
		probes[b] = place
		return
	}
	if len(d.attempts[place]) >= len(d.attempts[best]) {
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
	probes[b] = place
}

// isHeld reports whether an earlier record of r's key is held, or is about to be.
func (d *pageDelivery) isHeld(r *outbox.Record) bool {
	if r.Key == "" {
		return false
	}
	key := keyOf(r)
	if _, held := d.m.held.keys[key]; held {
		return true
	}
	_, held := d.blocked[key]
	return held
}

// isGivenUp reports whether an earlier record of r's key is given up, and that is not stored yet.
func (d *pageDelivery) isGivenUp(r *outbox.Record) bool {
	if r.Key == "" || len(d.givenUp) == 0 {
		return false
	}
	_, givenUp := d.givenUp[keyOf(r)]
	return givenUp
}

// hold sets the record at place aside, as soon as the position has reached it. It returns false
// if that is not possible.
func (d *pageDelivery) hold(place int, h driver.Holding) bool {
	held := &d.m.held
	if !held.possible() {
		return false
	}
	r := &d.page.Records[place]
	if h.Fate == driver.FateDead || h.Fate == driver.FateSkip {
		if r.Key != "" {
			d.givenUp[keyOf(r)] = place
		}
	} else {
		if !held.hasRoom(len(d.holdings)) {
			d.full = true
			return false
		}
		if r.Key != "" {
			d.blocked[driver.Key{Topic: r.Topic, Key: r.Key}] = struct{}{}
		}
	}
	h.Index = place
	d.holdings = append(d.holdings, h)
	d.moved = true
	return true
}
