package relay

import (
	"context"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// pageDelivery delivers one page in rounds, as soon as a key is held, a topic is out or a
// record has failed. In each round it plans what to send, sends it, takes the results, and
// stores or waits.
//
// It bounds how long one key can delay the others of its page (invariant O7). A record that fails
// for an unknown reason is sent again at once, together with the later records that were not
// sent: a sink needs that second call to find the culprit of a batch that was rejected. If the
// record fails again, it is set aside with its key. So each such key costs the others at most two
// calls of Sink.Send, PublishTimeout each, once; after that the key is tried between pages, at
// times that its own backoff decides.
//
// A topic that is out costs one call, and then one probe at a time, which take no more than a
// fifth of the others' time. A page with nothing but records of topics that are out is set aside,
// too, since records of another topic may come after it: at once if another topic was
// acknowledged within BackoffMax; otherwise one page per BackoffMax if another topic is known,
// and one per 12 BackoffMax if none is known but the sink is a Checker. Records of a topic that
// the destination itself does not take (outbox.ErrTopicUnavailable) are set aside at once,
// however many such topics there are: the destination has answered. Nothing is set aside while
// the Checker reports that the destination as a whole is unavailable, nor while all known topics
// are out and the sink is not a Checker. See design 4.2.
type pageDelivery struct {
	m    *keyMode
	page driver.Page

	todo     []int                    // places that are neither acknowledged nor set aside, ascending
	attempts map[int][]driver.Attempt // by place
	holdings []driver.Holding         // not stored yet
	blocked  map[driver.Key]struct{}  // the keys of holdings that later records must wait for
	givenUp  map[driver.Key]int       // the keys of holdings that give up the record at that place
	stored   int                      // the position is after this many records of the page

	// Of the last round.
	moved   bool  // the round has made progress
	failure error // of the sink
	full    bool  // a record should be set aside, and MaxHeld prevents it
}

func (d *pageDelivery) start() {
	d.todo = make([]int, len(d.page.Records))
	for i := range d.todo {
		d.todo[i] = i
	}
	d.attempts = make(map[int][]driver.Attempt)
	d.blocked = make(map[driver.Key]struct{})
	d.givenUp = make(map[driver.Key]int)
}

// run goes on until nothing is left to do, or the relay is stopped.
func (d *pageDelivery) run(stop, work context.Context) error {
	for len(d.todo) > 0 {
		d.moved, d.failure = false, nil
		d.m.breakers.checkUnavailable(work)
		var err error
		if places := d.plan(work, time.Now()); len(places) > 0 {
			err = d.send(stop, work, places)
			if work.Err() != nil {
				return context.Cause(work)
			}
		}
		if over, err := d.endRound(stop, work, err); over || err != nil {
			return err
		}
	}
	return d.store(work, len(d.page.Records))
}

// send sends the records at places and takes the results.
func (d *pageDelivery) send(stop, work context.Context, places []int) error {
	records := d.page.Records
	if len(places) < len(records) {
		records = make([]outbox.Record, len(places))
		for i, place := range places {
			records[i] = d.page.Records[place]
		}
	}
	results, took, err := d.m.s.send(stop, work, records)
	if err == nil {
		d.takeResults(work, places, records, results, took)
	}
	return err
}

// endRound ends a round, in which the call of the sink has returned err. If there was progress,
// the next round can begin at once; otherwise endRound stores what it can and waits. over reports
// that the relay is being stopped.
func (d *pageDelivery) endRound(stop, work context.Context, err error) (over bool, _ error) {
	if err != nil {
		d.failure = err
	}
	if d.failure != nil && (!d.moved || outbox.KindOf(d.failure) != outbox.FailureNotSent) {
		d.m.breakers.onFailure(work, d.failure)
	}
	if len(d.todo) == 0 {
		return false, nil
	}
	if freed, err := d.storeGivenUp(work); freed || err != nil {
		return false, err
	}
	if d.moved && (d.m.held.possible() || d.failure == nil) && !isOver(stop) {
		return false, nil
	}
	if err := d.store(work, d.todo[0]); err != nil {
		return false, err
	}
	d.m.s.term.inHand(&d.page.Records[d.todo[0]])
	if d.full {
		if room, err := d.m.held.findRoom(work, len(d.holdings)); room || err != nil {
			return false, err
		}
	}
	if d.m.s.term.once && d.onlyPaused() {
		return false, errLeft
	}
	return d.pause(stop, work, d.untilNextRound(time.Now()))
}

// untilNextRound returns the time until another round makes sense.
func (d *pageDelivery) untilNextRound(now time.Time) time.Duration {
	bs := d.m.breakers
	if d.m.s.relay.pauses.all() {
		return d.m.s.retry.Next() // no probe of a breaker is earlier
	}
	var next time.Time
	for _, i := range d.todo {
		b := bs.out(d.page.Records[i].Topic)
		if b == nil {
			return d.m.s.retry.Next()
		}
		if at := bs.probeAt(b); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next.Sub(now)
}

// pause waits for length, and delivers held records that become due. It ends sooner if one of
// those has closed a breaker or has made room. over reports that the relay is being stopped.
func (d *pageDelivery) pause(stop, work context.Context, length time.Duration) (over bool, err error) {
	held, bs := &d.m.held, d.m.breakers
	until := time.Now().Add(length)
	d.m.follow() // an outage can be long: early pages would only pile up
	for {
		next := until
		if held.possible() && held.dueAt.Before(until) {
			next = held.dueAt
		}
		if !wait.Full(stop, time.Until(next)) {
			return true, nil
		}
		if next.Equal(until) {
			return false, nil
		}
		open, count := bs.openCount, held.count
		if err := held.retryIfDue(stop, work); err != nil {
			return false, err
		}
		if bs.openCount < open || d.full && held.count < count {
			return false, nil
		}
	}
}
