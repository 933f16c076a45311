package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox"
)

// soon is the delay of messages for which a check waits.
const soon = 400 * time.Millisecond

func delayChecks() []Check {
	unordered := func(f Features) bool { return f.NoKeyOrder }
	all := unless(
		func(f Features) bool { return f.NoDelay },
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

// delayedExistsIffCommitted also has the time come before the transaction ends.
func delayedExistsIffCommitted(ctx context.Context, tr *trial) error {
	d, err := tr.delayed()
	if err != nil {
		return err
	}
	at, err := d.in(ctx, soon)
	if err != nil {
		return err
	}
	commitLate, err := tr.openLate(ctx, until(at, named("late")...)...)
	if err != nil {
		return err
	}
	for _, commit := range []bool{false, true} {
		msgs := append(named(fmt.Sprintf("now %t", commit)), until(at, keyed("k", fmt.Sprintf("later %t", commit))...)...)
		if err := tr.finish(ctx, commit, msgs...); err != nil {
			return err
		}
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	if err := d.expectArrivals(ctx, r, "now true", "later true"); err != nil {
		return err
	}
	if err := commitLate(ctx); err != nil {
		return err
	}
	return d.expectArrivals(ctx, r, "late")
}

// delayedIsNeverEarly waits for one message, and sees another one that is due in an hour.
func delayedIsNeverEarly(ctx context.Context, tr *trial) error {
	d, err := tr.delayed()
	if err != nil {
		return err
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	at, err := d.in(ctx, soon)
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, until(at.Add(-time.Hour), named("past")...)...); err != nil {
		return err
	}
	if err := r.expectDrain(ctx, 10, "past"); err != nil {
		return fmt.Errorf("a time that has passed is no delay: %w", err)
	}
	if err := tr.commit(ctx, append(until(at, named("soon")...), until(at.Add(time.Hour), named("in an hour")...)...)...); err != nil {
		return err
	}
	got, err := d.arrive(ctx, r, 1)
	if err != nil {
		return err
	}
	now, err := d.Now(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("now: %w", err)
	case now.Before(at):
		return fmt.Errorf("read: %s %s before its time", describe(got), at.Sub(now))
	case !got[0].NotBefore.IsZero():
		return fmt.Errorf("read: %s has NotBefore %s", describe(got), got[0].NotBefore)
	}
	if err := expect(got, "soon"); err != nil {
		return err
	}
	return d.expectArrivals(ctx, r)
}

// delayedSurvivesItsPromoter ends sessions by expiry, and calls of Promote in the middle.
func delayedSurvivesItsPromoter(ctx context.Context, tr *trial) error {
	const n = 60
	d, err := tr.delayed()
	if err != nil {
		return err
	}
	at, err := d.in(ctx, soon)
	if err != nil {
		return err
	}
	want := numbered("k", n)
	if err := tr.commit(ctx, until(at, keyed("k", want...)...)...); err != nil {
		return err
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	if err := d.await(ctx, at); err != nil {
		return err
	}
	for cut := range 10 {
		short, cancel := context.WithTimeout(ctx, time.Duration(cut)*200*time.Microsecond)
		_ = d.Promote(short) // with whatever error: nobody asks a process that was killed
		cancel()
		if r, err = tr.takeOver(ctx, r); err != nil {
			return err
		}
	}
	got, err := d.arrive(ctx, r, n)
	if err != nil {
		return err
	}
	rest, err := d.arrive(ctx, r, 0)
	if err != nil {
		return err
	}
	got = append(got, rest...)
	return errors.Join(expectSet(got, want), tr.expectNumbered(got))
}

// delayedKeepsEveryField also looks at the time of the event, which is that of the Enqueue.
func delayedKeepsEveryField(ctx context.Context, tr *trial) error {
	d, err := tr.delayed()
	if err != nil {
		return err
	}
	at, err := d.in(ctx, soon)
	if err != nil {
		return err
	}
	want := tricky()
	if err := tr.commit(ctx, until(at, tricky()...)...); err != nil {
		return err
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	got, err := d.arrive(ctx, r, len(want))
	if err != nil {
		return err
	}
	byID := make(map[string]*outbox.Record, len(got))
	for i := range got {
		byID[got[i].ID] = &got[i]
	}
	for i := range want {
		r := byID[want[i].ID]
		if r == nil {
			return fmt.Errorf("message %q is lost", want[i].ID)
		}
		if want[i].OccurredAt.IsZero() {
			if !r.OccurredAt.Before(at) {
				return fmt.Errorf("message %q: OccurredAt %s is not that of its Enqueue, which was before %s", r.ID, r.OccurredAt, at)
			}
			want[i].OccurredAt = r.OccurredAt
		}
		if err := sameMessage(&want[i], &r.Message); err != nil {
			return fmt.Errorf("message %q: enqueued and read: %w", r.ID, err)
		}
	}
	return nil
}
