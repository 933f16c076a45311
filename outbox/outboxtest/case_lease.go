package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

func leaseChecks() []Check {
	return []Check{
		{Name: "O9_OneHolder", run: oneHolder},
		{Name: "O9_RenewKeepsTheLease", run: renewKeepsTheLease},
		{Name: "O9_LostLeaseIsFenced", run: lostLeaseIsFenced},
		{Name: "O14_ExpiredLeaseIsTakenOver", run: expiredLeaseIsTakenOver},
	}
}

// oneHolder has many ask for the lease at the same time, again and again: a source that looks
// first and takes then lets two in only if they look before either takes.
func oneHolder(ctx context.Context, tr *trial) error {
	const rounds = 8
	src := tr.Source(testGroup)
	if err := src.Check(ctx); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	for range rounds {
		holder, err := oneOf(ctx, tr)
		if err != nil {
			return err
		}
		if err := holder.Release(ctx); err != nil {
			return fmt.Errorf("release: %w", err)
		}
	}
	return nil
}

// oneOf returns the session of who got the lease that several ask for.
func oneOf(ctx context.Context, tr *trial) (holder driver.Session, err error) {
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
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if holder == nil {
		return nil, errors.New("acquire: nobody got a free lease")
	}
	return holder, nil
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

func (tr *trial) expectHeld(ctx context.Context) error {
	_, err := tr.Source(testGroup).Acquire(ctx, longTTL)
	return heldBy(err)
}

// renewKeepsTheLease outlives the first term of a lease that was renewed.
func renewKeepsTheLease(ctx context.Context, tr *trial) error {
	const short = 2 * time.Second
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	if err := r.Renew(ctx, short); err != nil {
		return fmt.Errorf("renew: %w", err)
	}
	ran := time.After(short)
	if err := r.Renew(ctx, longTTL); err != nil {
		return fmt.Errorf("renew: %w", err)
	}
	select {
	case <-ran:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := tr.expectHeld(ctx); err != nil {
		return err
	}
	return r.Release(ctx)
}

func expiredLeaseIsTakenOver(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx, named("a", "b")...); err != nil {
		return err
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	for range 3 {
		if _, err := r.expectPage(ctx, 10, "a", "b"); err != nil {
			return err
		}
		next, err := tr.takeOver(ctx, r)
		if err != nil {
			return err
		}
		if next.Epoch() <= r.Epoch() {
			return fmt.Errorf("epoch %d after %d", next.Epoch(), r.Epoch())
		}
		r = next
	}
	return r.expectDrain(ctx, 10, "a", "b")
}

// lostLeaseIsFenced lets a session go on after its lease was taken over.
func lostLeaseIsFenced(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx, named(numbered("m", 6)...)...); err != nil {
		return err
	}
	zombie, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	p, err := zombie.expectPage(ctx, 3, "m-1", "m-2", "m-3")
	if err != nil {
		return err
	}
	owner, err := tr.takeOver(ctx, zombie)
	if err != nil {
		return err
	}
	if err := tr.expectFenced(ctx, zombie, p); err != nil {
		return err
	}
	if err := owner.expectDrain(ctx, 2, numbered("m", 6)...); err != nil {
		return fmt.Errorf("after a lost session tried to advance: %w", err)
	}
	if err := tr.expectFenced(ctx, zombie, p); err != nil {
		return err
	}
	if err := zombie.Release(ctx); err != nil {
		return fmt.Errorf("release of a lost lease: %w", err)
	}
	if err := tr.expectHeld(ctx); err != nil {
		return fmt.Errorf("after the release of a lost lease: %w", err)
	}
	if owner, err = tr.hand(ctx, owner); err != nil {
		return err
	}
	return owner.expectDrain(ctx, 10) // the lost session did not move the position back
}

func (tr *trial) expectFenced(ctx context.Context, zombie *reader, p driver.Page) error {
	if err := zombie.Renew(ctx, longTTL); !errors.Is(err, driver.ErrLeaseLost) {
		return unexpected("renew of a lost lease", err, driver.ErrLeaseLost)
	}
	err := zombie.Advance(ctx, p, len(p.Records))
	if err == nil && tr.features.LazyAdvance {
		return nil
	}
	if !errors.Is(err, driver.ErrLeaseLost) {
		return unexpected("advance under a lost lease", err, driver.ErrLeaseLost)
	}
	return nil
}
