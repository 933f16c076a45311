package relay

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// delivery is the way of one page from the moment at which something is amiss:
// a key is held, a destination is out, or a record has failed.
//
// How long one key can delay the others of its page (invariant O7): a record that
// fails for an unknown reason is sent again at once, together with all that was
// not sent behind it. That second call is what a sink needs to find the culprit
// of a batch that was rejected. If the record fails again it is set aside, and its
// key with it. So each such key costs the others at most two calls of
// Sink.Send, PublishTimeout each, once; after that the key is tried between
// pages, at times that its own backoff decides. A destination that is out costs
// one call, and then one probe at a time, for which the others wait no more than
// a fifth of the time. A page of nothing but records for destinations that are
// out is set aside, too, since what lies behind it may be for another: at once if
// another has answered within BackoffMax; else one page each BackoffMax if another
// is known, and each 12 BackoffMax if none is but the sink is a Checker. Records of a topic
// that the destination itself does not take (outbox.ErrTopicUnavailable) are set aside at
// once, however many such topics there are: it has answered. While the
// Checker says that the destination as a whole is away, and while all known topics
// are out and the sink is no Checker, nothing is set aside.
type delivery struct {
	t    *term
	page driver.Page

	todo     []int // places that are neither acknowledged nor set aside, ascending
	tries    map[int][]driver.Attempt
	holdings []driver.Holding
	blocked  map[driver.Key]struct{} // keys of holdings, which are not stored yet
	givenUp  map[driver.Key]int      // keys of which a record is given up, at that place; not stored yet
	done     int                     // records of the page that are settled
	moved    bool                    // the last round has brought something forward
	failure  error                   // of the last round
	capped   bool                    // something should be set aside and MaxHeld forbids it
}

func (d *delivery) begin() {
	d.todo = make([]int, len(d.page.Records))
	for i := range d.todo {
		d.todo[i] = i
	}
	d.tries = make(map[int][]driver.Attempt)
	d.blocked = make(map[driver.Key]struct{})
	d.givenUp = make(map[driver.Key]int)
}

// run goes on until nothing is left to do.
func (d *delivery) run(stop, work context.Context) error {
	for len(d.todo) > 0 {
		d.moved, d.failure = false, nil
		d.t.breakers.checkUnavailable(work)
		var err error
		if places := d.plan(work, time.Now()); len(places) > 0 {
			err = d.send(stop, work, places)
			if work.Err() != nil {
				return context.Cause(work)
			}
		}
		if done, err := d.rest(stop, work, err); done || err != nil {
			return err
		}
	}
	return d.settle(work, len(d.page.Records))
}

// send sends the records of places and takes in the answer.
func (d *delivery) send(stop, work context.Context, places []int) error {
	records := d.page.Records
	if len(places) < len(records) {
		records = make([]outbox.Record, len(places))
		for i, place := range places {
			records[i] = d.page.Records[place]
		}
	}
	results, took, err := d.t.call(stop, work, records)
	if err == nil {
		d.judge(work, places, records, results, took)
	}
	return err
}

// rest ends a round: it goes on at once where something has moved, and else
// settles what can be settled and waits. It says whether the delivery is over
// for now, since the relay is being stopped.
func (d *delivery) rest(stop, work context.Context, err error) (over bool, _ error) {
	t := d.t
	if err != nil {
		d.failure = err
	}
	if d.failure != nil && (!d.moved || outbox.KindOf(d.failure) != outbox.FailureNotSent) {
		t.relay.onError(work, "send", d.failure)
	}
	if len(d.todo) == 0 {
		return false, nil
	}
	if freed, err := d.storeGivenUp(work); freed || err != nil {
		return false, err
	}
	if d.moved && (t.holder != nil || d.failure == nil) && stop.Err() == nil {
		return false, nil
	}
	if err := d.settle(work, d.todo[0]); err != nil {
		return false, err
	}
	t.inHand(&d.page.Records[d.todo[0]])
	if d.capped {
		if room, err := t.capped(work, len(d.holdings)); room || err != nil {
			return false, err
		}
	}
	return d.pause(stop, work, d.wait(time.Now()))
}

// storeGivenUp stores records that were given up, so that those behind them of their key
// can go. Until then they wait: another relay would begin with what is not stored, and
// its broker might take it (rule R1).
func (d *delivery) storeGivenUp(work context.Context) (freed bool, err error) {
	before := len(d.givenUp)
	if before == 0 || !slices.ContainsFunc(d.todo, func(i int) bool { return d.isGivenUp(&d.page.Records[i]) }) {
		return false, nil
	}
	err = d.settle(work, d.todo[0])
	return len(d.givenUp) < before, err
}

// wait is the time until another round makes sense.
func (d *delivery) wait(now time.Time) time.Duration {
	var next time.Time
	for _, i := range d.todo {
		dest := d.t.breakers.out(d.page.Records[i].Topic)
		if dest == nil {
			return d.t.retry.Next()
		}
		if at := d.t.breakers.probeAt(dest); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next.Sub(now)
}

// pause waits, and meanwhile delivers held records that are due. It ends sooner
// where one of those has brought a destination back, or has made room.
func (d *delivery) pause(stop, work context.Context, most time.Duration) (over bool, err error) {
	t := d.t
	until := time.Now().Add(most)
	for {
		next := until
		if t.holder != nil && t.dueAt.Before(until) {
			next = t.dueAt
		}
		if !wait.Full(stop, time.Until(next)) {
			return true, nil
		}
		if next.Equal(until) {
			return false, nil
		}
		open, held := t.breakers.openCount, t.held
		if err := t.dueIfTime(stop, work); err != nil {
			return false, err
		}
		if t.breakers.openCount < open || d.capped && t.held < held {
			return false, nil
		}
	}
}

// settle settles the first n records of the page, of which each was acknowledged
// or is to be set aside.
func (d *delivery) settle(work context.Context, n int) error {
	if n <= d.done {
		return nil
	}
	t := d.t
	slices.SortFunc(d.holdings, func(a, b driver.Holding) int { return a.Index - b.Index })
	ready, _ := slices.BinarySearchFunc(d.holdings, n, func(h driver.Holding, n int) int { return h.Index - n })
	if ready == 0 {
		if err := t.advance(work, d.page, n); err != nil {
			return t.fault(work, "advance", err)
		}
	} else {
		if err := t.hold(work, d.page, n, d.holdings[:ready]); err != nil {
			return err
		}
		for _, h := range d.holdings[:ready] {
			if key := keyOf(&d.page.Records[h.Index]); d.givenUp[key] == h.Index {
				delete(d.givenUp, key)
			}
		}
		d.holdings = slices.Delete(d.holdings, 0, ready)
	}
	t.retry.Reset()
	t.acked.Add(int64(n - d.done - ready))
	t.progress(work, d.page.Records[d.done:n], ready)
	d.done = n
	return nil
}
