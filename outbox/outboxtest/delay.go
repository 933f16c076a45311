package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// soon is the delay of messages that a check waits for.
const soon = 400 * time.Millisecond

func delayChecks() []Check {
	unordered := func(f Features) bool { return f.NoKeyOrder }
	all := unless(
		noDelay,
		Check{Name: "O1_DelayedExistsIffCommitted", run: delayedExistsIffCommitted},
		Check{Name: "O1_DelayedIsNeverEarly", run: delayedIsNeverEarly},
		Check{Name: "O2_DelayedSurvivesItsPromoter", run: delayedSurvivesItsPromoter},
		Check{Name: "O4_DelayedKeepsEveryField", run: delayedKeepsEveryField},
		Check{Name: "O5_DelayedTakesItsPlaceWhenDue", run: delayedTakesItsPlace, skip: unordered},
		Check{
			Name: "O5_DelayedWaitsForItsKey", run: delayedWaitsForItsKey,
			skip: func(f Features) bool { return f.NoKeyOrder || f.OneWriter },
		},
		Check{Name: "O10_DelayedByTwoPromoters", run: delayedByTwoPromoters},
		Check{Name: "O2_CancelledIsNeverSent", run: cancelledIsNeverSent},
	)
	return append(all, Check{
		Name: "O1_DelayIsRefused", run: delayIsRefused,
		skip: func(f Features) bool { return !f.NoDelay },
	})
}

func noDelay(f Features) bool { return f.NoDelay }

// delayedExistsIffCommitted includes messages whose time comes before the transaction ends.
func delayedExistsIffCommitted(ctx context.Context, tr *trial) {
	d := tr.delayed()
	at := d.in(ctx, soon)
	commitLate := tr.openLate(ctx, until(at, named("late")...)...)
	for _, commit := range []bool{false, true} {
		msgs := append(named(fmt.Sprintf("now %t", commit)), until(at, keyed("k", fmt.Sprintf("later %t", commit))...)...)
		fail.If(tr.finish(ctx, commit, msgs...))
	}
	r := tr.acquire(ctx)
	d.expectArrivals(ctx, r, "now true", "later true")
	commitLate(ctx)
	d.expectArrivals(ctx, r, "late")
}

// delayedIsNeverEarly waits for one message while another one is due in an hour.
func delayedIsNeverEarly(ctx context.Context, tr *trial) {
	d := tr.delayed()
	r := tr.acquire(ctx)
	at := d.in(ctx, soon)
	tr.commit(ctx, until(at.Add(-time.Hour), named("past")...)...)
	fail.In("a time that has passed is not a delay", func() { r.expectDrain(ctx, 10, "past") })
	tr.commit(ctx, append(until(at, named("soon")...), until(at.Add(time.Hour), named("in an hour")...)...)...)
	got := d.arrive(ctx, r, 1)
	now, err := d.Now(ctx)
	switch {
	case err != nil:
		fail.With("now: %w", err)
	case now.Before(at):
		fail.With("read: %s %s before its time", describe(got), at.Sub(now))
	case !got[0].NotBefore.IsZero():
		fail.With("read: %s has NotBefore %s", describe(got), got[0].NotBefore)
	}
	expect(got, "soon")
	d.expectArrivals(ctx, r)
}

// delayedSurvivesItsPromoter ends sessions by expiry, and calls of Promote half-way.
func delayedSurvivesItsPromoter(ctx context.Context, tr *trial) {
	const n = 60
	d := tr.delayed()
	at := d.in(ctx, soon)
	want := numbered("k", n)
	tr.commit(ctx, until(at, keyed("k", want...)...)...)
	r := tr.acquire(ctx)
	d.await(ctx, at)
	for cut := range 10 {
		short, cancel := context.WithTimeout(ctx, time.Duration(cut)*200*time.Microsecond)
		_ = d.Promote(short) // any error will do: a killed process returns none
		cancel()
		r = tr.takeOver(ctx, r)
	}
	got := d.arrive(ctx, r, n)
	rest := d.arrive(ctx, r, 0)
	got = append(got, rest...)
	expectSet(got, want)
	tr.expectNumbered(got)
}

// delayedKeepsEveryField also checks the time of the event, which is that of the Enqueue.
func delayedKeepsEveryField(ctx context.Context, tr *trial) {
	d := tr.delayed()
	at := d.in(ctx, soon)
	want := tricky()
	tr.commit(ctx, until(at, tricky()...)...)
	r := tr.acquire(ctx)
	got := d.arrive(ctx, r, len(want))
	byID := make(map[string]*outbox.Record, len(got))
	for i := range got {
		byID[got[i].ID] = &got[i]
	}
	for i := range want {
		r := byID[want[i].ID]
		if r == nil {
			fail.With("message %q is lost", want[i].ID)
		}
		if want[i].OccurredAt.IsZero() {
			if !r.OccurredAt.Before(at) {
				fail.With("message %q: OccurredAt %s is not that of its Enqueue, which was before %s", r.ID, r.OccurredAt, at)
			}
			want[i].OccurredAt = r.OccurredAt
		}
		fail.If(sameMessage(&want[i], &r.Message), fmt.Sprintf("message %q: enqueued and read", r.ID))
	}
}

// delayedTakesItsPlace enqueues messages of a key in an order other than that of their times,
// with one last that is not delayed.
func delayedTakesItsPlace(ctx context.Context, tr *trial) {
	d := tr.delayed()
	r := tr.acquire(ctx)
	at := d.ahead(ctx, r, 4, func(at time.Time) {
		for _, msgs := range [][]outbox.Message{
			until(at.Add(20*time.Millisecond), keyed("k", "third")...),
			until(at, keyed("k", "first", "second")...),
			keyed("k", "at once"),
		} {
			tr.commit(ctx, msgs...)
		}
	})
	d.await(ctx, at.Add(20*time.Millisecond))
	d.expectArrivals(ctx, r, "at once", "first", "second", "third")
	tr.commit(ctx, keyed("k", "last")...)
	r.expectDrain(ctx, 10, "last")
}

// delayedWaitsForItsKey lets messages become due while a transaction holds their key: they stay,
// nothing waits for that transaction, and those of other keys are read.
func delayedWaitsForItsKey(ctx context.Context, tr *trial) {
	d := tr.delayed()
	r := tr.acquire(ctx)
	at := d.ahead(ctx, r, 4, func(at time.Time) {
		tr.commit(ctx, until(at, append(keyed("held", "held-1", "held-2"), append(keyed("free", "free"), named("no key")...)...)...)...)
	})
	open := tr.open(ctx, keyed("held", "before")...)
	d.await(ctx, at)
	var got []outbox.Record
	fail.In("while a transaction holds another key", func() { got = d.arrive(ctx, r, 2) })
	fail.In(fmt.Sprintf("while a transaction holds the key %q", "held"), func() { expectSet(got, []string{"free", "no key"}) })
	fail.If(open.Commit(ctx))
	d.expectArrivals(ctx, r, "before", "held-1", "held-2")
}

// delayedByTwoPromoters runs several promoters at once over many messages of few keys.
func delayedByTwoPromoters(ctx context.Context, tr *trial) {
	const promoters, keys, each = 3, 7, 20
	d := tr.delayed()
	at := d.in(ctx, soon)
	var want []string
	for k := range keys {
		names := numbered(fmt.Sprintf("key%d", k), each)
		tr.commit(ctx, until(at, keyed(fmt.Sprintf("key%d", k), names...)...)...)
		want = append(want, names...)
	}
	d.await(ctx, at)
	done := make(chan error, promoters)
	for range promoters {
		go func() {
			var errs []error
			for range 5 {
				errs = append(errs, d.Promote(ctx))
			}
			done <- errors.Join(errs...)
		}()
	}
	var errs []error
	for range promoters {
		errs = append(errs, <-done)
	}
	fail.If(errors.Join(errs...), "promote")
	r := tr.acquire(ctx)
	got := d.arrive(ctx, r, len(want))
	expectSet(got, want)
	tr.expectNumbered(got)
}

// expectNumbered expects the records of each key in the order of their names' numbers.
func (tr *trial) expectNumbered(got []outbox.Record) {
	if tr.features.NoKeyOrder {
		return
	}
	next := make(map[string]int)
	for i := range got {
		key := got[i].Key
		next[key]++
		if want := fmt.Sprintf("%s-%d", key, next[key]); string(got[i].Payload) != want {
			fail.With("key %q: read %.40s where %s was expected", key, got[i].Payload, want)
		}
	}
}

// cancelledIsNeverSent cancels messages, if the subject can: before their time, once more, and
// when they are in the log.
func cancelledIsNeverSent(ctx context.Context, tr *trial) {
	d := tr.delayed()
	canceller, ok := tr.Subject.(admin.Manager)
	if !ok {
		return
	}
	at := d.in(ctx, 2*time.Second)
	msgs := until(at, keyed("k", "kept", "cancelled", "too late")...)
	for i := range msgs {
		msgs[i].ID = string(msgs[i].Payload)
	}
	tr.commit(ctx, msgs...)
	cancel := func(id string, want bool) error {
		done, err := canceller.CancelDelayed(ctx, admin.CancelRequest{By: by(), ID: id})
		if err == nil && (done.Count > 0) != want {
			err = fmt.Errorf("%d were cancelled, want any: %t", done.Count, want)
		}
		if err != nil {
			return fmt.Errorf("cancel of %q: %w", id, err)
		}
		return nil
	}
	fail.IfAny(cancel("cancelled", true), cancel("cancelled", false), cancel("never seen", false))
	r := tr.acquire(ctx)
	d.await(ctx, at)
	d.expectArrivals(ctx, r, "kept", "too late")
	fail.If(cancel("too late", false))
}

// delayIsRefused is about outboxes that cannot delay: a message that is sent before its
// NotBefore is worse than none.
func delayIsRefused(ctx context.Context, tr *trial) {
	tx := tr.begin(ctx)
	msgs := append(named("now"), until(time.Now().Add(time.Hour), named("later")...)...)
	fail.If(refusal(tx.Enqueue(ctx, msgs...), 1, "NotBefore"))
	fail.IfAny(tx.Enqueue(ctx, named("after")...), tx.Commit(ctx))
	tr.expectAll(ctx, "after")
}

var errNoDelayer = errors.New("the subject is not a Delayer; say Features.NoDelay")

// delayed is a check's view of a Delayer.
type delayed struct {
	Delayer

	tr *trial
}

func (tr *trial) delayed() delayed {
	d, ok := tr.Subject.(Delayer)
	if !ok {
		fail.Now(errNoDelayer)
	}
	return delayed{d, tr}
}

// in returns the time after delay, by the clock of delays, in whole microseconds.
func (d delayed) in(ctx context.Context, delay time.Duration) time.Time {
	now, err := d.Now(ctx)
	fail.If(err, "now")
	return now.Add(delay).Truncate(time.Microsecond)
}

// ahead calls commit to store n messages while at is in the future, and returns at. On a slow
// machine that time may have passed by then: if so, r reads the messages, and ahead starts over
// with more time.
func (d delayed) ahead(ctx context.Context, r *reader, n int, commit func(at time.Time)) time.Time {
	for delay := soon; ; delay *= 2 {
		at := d.in(ctx, delay)
		commit(at)
		now, err := d.Now(ctx)
		fail.If(err, "now")
		if now.Before(at) {
			return at
		}
		d.await(ctx, at.Add(delay))
		d.arrive(ctx, r, n)
	}
}

// until returns msgs with this NotBefore.
func until(at time.Time, msgs ...outbox.Message) []outbox.Message {
	for i := range msgs {
		msgs[i].NotBefore = at
	}
	return msgs
}

// await returns when the clock has reached at.
func (d delayed) await(ctx context.Context, at time.Time) {
	for {
		now, err := d.Now(ctx)
		fail.If(err, "now")
		if !now.Before(at) {
			return
		}
		fail.If(pause(ctx))
	}
}

// arrive promotes and drains until n records have arrived.
func (d delayed) arrive(ctx context.Context, r *reader, n int) []outbox.Record {
	var got []outbox.Record
	for {
		err := fail.Caught(func() {
			fail.If(d.Promote(ctx))
			got = append(got, r.drain(ctx, 7)...)
		})
		switch {
		case err == nil && len(got) >= n:
			return got
		case err == nil:
			err = pause(ctx)
		}
		fail.If(err, fmt.Sprintf("%d of %d records that are due have come, %s", len(got), n, describe(got)))
	}
}

// expectArrivals expects exactly these records, in this order, and nothing after them.
func (d delayed) expectArrivals(ctx context.Context, r *reader, names ...string) {
	got := d.arrive(ctx, r, len(names))
	rest := d.arrive(ctx, r, 0)
	expect(append(got, rest...), names...)
}
