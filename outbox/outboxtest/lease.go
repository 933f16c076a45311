package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

func leaseChecks() []Check {
	return append([]Check{
		{Name: "O9_OneHolder", run: oneHolder},
		{Name: "O9_RenewKeepsTheLease", run: renewKeepsTheLease},
		{Name: "O9_LostLeaseIsFenced", run: lostLeaseIsFenced},
		{Name: "O14_ExpiredLeaseIsTakenOver", run: expiredLeaseIsTakenOver},
		{Name: "O14_ClockSetBack", run: clockSetBack},
		{Name: "O10_NoRepeatsAcrossCleanStops", run: noRepeatsAcrossCleanStops},
		{Name: "O13_ReleasedLeaseIsFree", run: releasedLeaseIsFree},
	}, unless(noTakeover, Check{Name: "O14_DeadHolderIsReplaced", run: deadHolderIsReplaced})...)
}

// oneHolder has many sessions request the lease at the same time, again and again: a source that
// checks first and takes later only admits two if both check before either takes.
func oneHolder(ctx context.Context, tr *trial) {
	const rounds = 8
	src := tr.Source(testGroup)
	fail.If(src.Check(ctx), "check")
	for range rounds {
		holder := oneOf(ctx, tr)
		fail.If(holder.Release(ctx), "release")
	}
}

// oneOf returns the session that got the lease that several request.
func oneOf(ctx context.Context, tr *trial) (holder driver.Session) {
	type answer struct {
		s   driver.Session
		err error
	}
	const askers = 6
	answers := make(chan answer, askers)
	for range askers {
		go func() {
			s, err := tr.Source(testGroup).Acquire(ctx, longTTL)
			answers <- answer{s, err}
		}()
	}
	var errs []error
	for range askers {
		switch a := <-answers; {
		case a.err != nil:
			errs = append(errs, heldBy(a.err))
		case holder != nil:
			errs = append(errs, errors.New("acquire: two hold the lease"))
		default:
			holder = a.s
		}
	}
	fail.IfAny(errs...)
	if holder == nil {
		fail.With("acquire: nobody got a free lease")
	}
	return holder
}

// heldBy checks the error of an Acquire while the lease is held for longTTL.
func heldBy(err error) error {
	held, ok := errors.AsType[*driver.LeaseHeldError](err)
	switch {
	case !ok || !errors.Is(err, driver.ErrLeaseHeld):
		return unexpected("acquire for which a *LeaseHeldError is due", err, driver.ErrLeaseHeld)
	case held.Owner == "":
		return errors.New("acquire while the lease is held: the error names no owner")
	case held.Remaining <= 0 || held.Remaining > longTTL:
		return fmt.Errorf("acquire while the lease is held: %s remain of %s", held.Remaining, longTTL)
	}
	return nil
}

func (tr *trial) expectHeld(ctx context.Context) {
	_, err := tr.Source(testGroup).Acquire(ctx, longTTL)
	fail.If(heldBy(err))
}

// renewKeepsTheLease outlasts the first term of a lease that was renewed.
func renewKeepsTheLease(ctx context.Context, tr *trial) {
	const short = 2 * time.Second
	r := tr.acquire(ctx)
	fail.If(r.Renew(ctx, short), "renew")
	ran := time.After(short)
	fail.If(r.Renew(ctx, longTTL), "renew")
	select {
	case <-ran:
	case <-ctx.Done():
		fail.Now(ctx.Err())
	}
	tr.expectHeld(ctx)
	fail.If(r.Release(ctx))
}

func expiredLeaseIsTakenOver(ctx context.Context, tr *trial) {
	tr.commit(ctx, named("a", "b")...)
	r := tr.acquire(ctx)
	for range 3 {
		r.expectPage(ctx, 10, "a", "b")
		next := tr.takeOver(ctx, r)
		if next.Epoch() <= r.Epoch() {
			fail.With("epoch %d after %d", next.Epoch(), r.Epoch())
		}
		r = next
	}
	r.expectDrain(ctx, 10, "a", "b")
}

// clockSetBack has a lease that was granted by a clock which was ahead by more than any lease
// lasts. It lasts no longer than any other.
func clockSetBack(ctx context.Context, tr *trial) {
	setter, ok := tr.Subject.(ClockSetter)
	if !ok {
		return
	}
	tr.commit(ctx, named("a", "b")...)
	ahead := tr.acquire(ctx)
	p := ahead.expectPage(ctx, 10, "a", "b")
	fail.If(setter.SetClockBack(ctx, 4*longTTL), "set the clock back")
	s, err := tr.Source(testGroup).Acquire(ctx, longTTL)
	fail.If(err, "acquire of a lease that was given by a clock that was ahead")
	next := &reader{Session: s}
	if next.Epoch() <= ahead.Epoch() {
		fail.With("epoch %d after %d", next.Epoch(), ahead.Epoch())
	}
	tr.expectFenced(ctx, ahead, p)
	next.expectDrain(ctx, 10, "a", "b")
}

// replaceTime bounds how long a dead holder may keep its lease. It is far below longTTL.
const replaceTime = 10 * time.Second

// deadHolderIsReplaced ends a session without a release. Its lease is taken over at once. If the
// dead session still runs, it finds out, and can change nothing.
func deadHolderIsReplaced(ctx context.Context, tr *trial) {
	m, ok := tr.Subject.(Mortal)
	if !ok {
		fail.With("the subject is not a Mortal; say Features.NoTakeover")
	}
	tr.commit(ctx, named("a", "b")...)
	dead := tr.acquire(ctx)
	p := dead.expectPage(ctx, 10, "a", "b")
	tr.expectHeld(ctx)
	fail.If(m.Die(ctx, dead.Session), "die")
	var next *reader
	asking, cancel := context.WithTimeout(ctx, replaceTime)
	defer cancel()
	for next == nil {
		s, err := tr.Source(testGroup).Acquire(asking, longTTL)
		held, isHeld := errors.AsType[*driver.LeaseHeldError](err)
		switch {
		case asking.Err() != nil:
			fail.With("the lease of a dead holder is still held")
		case err == nil:
			next = &reader{Session: s}
		case !isHeld || held.Retry <= 0:
			fail.With("acquire from a dead holder: %v, which does not say when to ask again", err)
		default:
			_ = wait.For(asking, held.Retry) // the next round sees the error
		}
	}
	if next.Epoch() <= dead.Epoch() {
		fail.With("epoch %d after %d", next.Epoch(), dead.Epoch())
	}
	expectError("renew of a dead holder", dead.Renew(ctx, longTTL), driver.ErrLeaseLost)
	if w, ok := dead.Session.(driver.Watched); ok {
		expectError("what a dead holder knows", w.Lost(), driver.ErrLeaseLost)
	}
	if err := dead.Advance(ctx, p, len(p.Records)); err == nil && !tr.features.LazyAdvance {
		fail.With("advance of a dead holder: no error")
	}
	fail.If(dead.Release(ctx), "release of a dead holder")
	fail.In("after the release of a dead holder", func() { tr.expectHeld(ctx) })
	next.expectDrain(ctx, 10, "a", "b")
}

// lostLeaseIsFenced uses a session after its lease was taken over.
func lostLeaseIsFenced(ctx context.Context, tr *trial) {
	tr.commit(ctx, named(numbered("m", 6)...)...)
	zombie := tr.acquire(ctx)
	p := zombie.expectPage(ctx, 3, "m-1", "m-2", "m-3")
	owner := tr.takeOver(ctx, zombie)
	tr.expectFenced(ctx, zombie, p)
	fail.In("after a lost session tried to advance", func() { owner.expectDrain(ctx, 2, numbered("m", 6)...) })
	tr.expectFenced(ctx, zombie, p)
	fail.If(zombie.Release(ctx), "release of a lost lease")
	fail.In("after the release of a lost lease", func() { tr.expectHeld(ctx) })
	owner = tr.hand(ctx, owner)
	owner.expectDrain(ctx, 10) // the lost session did not move the position back
}

func (tr *trial) expectFenced(ctx context.Context, zombie *reader, p driver.Page) {
	expectError("renew of a lost lease", zombie.Renew(ctx, longTTL), driver.ErrLeaseLost)
	err := zombie.Advance(ctx, p, len(p.Records))
	if err == nil && tr.features.LazyAdvance {
		return
	}
	expectError("advance under a lost lease", err, driver.ErrLeaseLost)
}

// noRepeatsAcrossCleanStops reads a log under many leases, one page each.
func noRepeatsAcrossCleanStops(ctx context.Context, tr *trial) {
	want := numbered("m", 40)
	for i := 0; i < len(want); i += 8 {
		tr.commit(ctx, named(want[i:i+8]...)...)
	}
	r := tr.acquire(ctx)
	var got []outbox.Record
	for limit := 1; len(got) < len(want); limit = limit%6 + 1 {
		p := r.page(ctx, limit)
		if len(p.Records) == 0 {
			break
		}
		r.settle(ctx, p, len(p.Records))
		got = append(got, p.Records...)
		r = tr.hand(ctx, r)
	}
	expect(append(got, r.drain(ctx, 10)...), want...)
}

func releasedLeaseIsFree(ctx context.Context, tr *trial) {
	r := tr.acquire(ctx)
	for range 3 {
		tr.expectHeld(ctx)
		var next *reader
		fail.In("right after a release", func() { next = tr.hand(ctx, r) })
		if next.Epoch() <= r.Epoch() {
			fail.With("epoch %d after %d", next.Epoch(), r.Epoch())
		}
		r = next
	}
	fail.If(r.Release(ctx))
}

// renewTime bounds one renewal. It is shorter than any lease that the checks take.
const renewTime = 10 * time.Second

var errLateRenewal = fmt.Errorf("renew: did not return within %s", renewTime)

// renewInTime renews the lease, and does not wait for it for longer than renewTime.
func (r *reader) renewInTime(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, renewTime, errLateRenewal)
	defer cancel()
	renewed := make(chan error, 1)
	go func() { renewed <- r.Renew(ctx, longTTL) }()
	select {
	case err := <-renewed:
		if err != nil {
			return fmt.Errorf("renew: %w", errors.Join(err, context.Cause(ctx)))
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// keepRenewing renews the lease until stop is called, which returns the error.
func (r *reader) keepRenewing(ctx context.Context) (stop func() error) {
	end, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			if err := r.renewInTime(ctx); err != nil {
				ended <- err
				return
			}
			select {
			case <-end:
				ended <- nil
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() error {
		close(end)
		return <-ended
	}
}
