package memoutbox

import (
	"context"
	"errors"
	"time"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
	"github.com/leat-go/leat/outbox/outboxtest"
)

// brokenLeases are leases that let two go on, or none.
func brokenLeases() []negative {
	return []negative{
		{"positions are written without an epoch check", unfenced, map[string]string{
			"O9_LostLeaseIsFenced":      "under a lost lease",
			"O12_PositionNeverGoesBack": "want [next]",
		}},
		{"a lost lease can be renewed", renewable, map[string]string{
			"O9_LostLeaseIsFenced": "renew of a lost lease",
		}},
		{"a release frees whoever holds the lease", releasesOthers, map[string]string{
			"O9_LostLeaseIsFenced": "after the release of a lost lease",
		}},
		{"anybody gets the lease", freeForAll, map[string]string{
			"O9_OneHolder":                   "two hold the lease",
			"O9_RenewKeepsTheLease":          "no error, want leat: lease is held",
			"Relay_RunOnceFindsTheLeaseHeld": "run once while the lease is held",
		}},
		{"a release keeps the lease", keptLease, map[string]string{
			"O13_ReleasedLeaseIsFree":     "right after a release",
			"Relay_O13_CleanStopReleases": "right after a stop",
		}},
		{"a lease never ends", endlessLease, map[string]string{
			"O14_ExpiredLeaseIsTakenOver":          "still held",
			"Relay_O12_KilledBetweenAckAndAdvance": "after the kill",
		}},
		{"a renewal is forgotten", deafRenewal, map[string]string{
			"O14_ExpiredLeaseIsTakenOver": "still held",
		}},
		{"epochs do not grow", sameEpoch, map[string]string{
			"O14_ExpiredLeaseIsTakenOver": "epoch 1 after 1",
			"O13_ReleasedLeaseIsFree":     "epoch 1 after 1",
		}},
		{"the dead keep their leases", deadHolds, map[string]string{
			"O14_DeadHolderIsReplaced": "still held",
		}},
		{"a lease counts to its end, whatever its beginning", lastingLease, map[string]string{
			"O14_ClockSetBack": "given by a clock that was ahead",
		}},
		{"the dead do not know", renewable, map[string]string{
			"O14_DeadHolderIsReplaced": "renew of a dead holder",
		}},
		{"wakes are lost", silentWake, map[string]string{
			"Wake_ReachesEverySubscriber": "was not woken",
			"Relay_WakeReplacesPolling":   "was not sent upon a wake",
		}},
	}
}

var _ outboxtest.Mortal = (*control)(nil)

// Die implements outboxtest.Mortal, as far as memory can: the lease of the dead is free.
func (c *control) Die(_ context.Context, s driver.Session) error {
	inner, ok := s.(*session)
	if !ok {
		inner = s.(controlSession).session
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.die != nil {
		c.die(inner.group)
		return nil
	}
	inner.group.held = false
	return nil
}

var _ outboxtest.ClockSetter = (*control)(nil)

// SetClockBack implements outboxtest.ClockSetter, as far as memory can, whose clock nobody sets.
func (c *control) SetClockBack(ctx context.Context, by time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.groups {
		g.until = time.Now()
		if c.lasting {
			g.until = g.until.Add(by)
		}
	}
	var errs []error
	for _, held := range c.held {
		rows, err := held.Select(ctx, heldqueue.Query{In: []heldqueue.State{heldqueue.Retry}})
		for i := range rows {
			rows[i].Next = rows[i].Next.Add(by)
		}
		errs = append(errs, err, held.Update(ctx, rows))
	}
	return errors.Join(errs...)
}

func lastingLease(c *control) { c.lasting = true }

func deadHolds(c *control) {
	c.die = func(*group) {}
	c.acquire = func(ctx context.Context, s *source, ttl time.Duration) (driver.Session, error) {
		inner, err := s.Acquire(ctx, ttl)
		if held, ok := errors.AsType[*driver.LeaseHeldError](err); ok {
			held.Retry = time.Second
		}
		return inner, err
	}
}

func unfenced(c *control) {
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, advance: func(_ context.Context, p driver.Page, n int) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			at := p.Cursor.(cursor)
			s.pos.done = at.first + n
			s.group.pos = s.pos
			return nil
		}}
	}
}

func renewable(c *control) {
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, renew: func(_ context.Context, ttl time.Duration) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			s.group.until = time.Now().Add(ttl)
			return nil
		}}
	}
}

func releasesOthers(c *control) {
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, release: func(context.Context) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			s.group.held = false
			return nil
		}}
	}
}

func freeForAll(c *control) {
	c.acquire = func(ctx context.Context, s *source, ttl time.Duration) (driver.Session, error) {
		c.mu.Lock()
		if g := c.groups[slotName{s.group, 0}]; g != nil {
			g.held = false
		}
		c.mu.Unlock()
		return s.Acquire(ctx, ttl)
	}
}

func keptLease(c *control) {
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, release: func(context.Context) error { return nil }}
	}
}

func endlessLease(c *control) {
	c.acquire = func(ctx context.Context, s *source, _ time.Duration) (driver.Session, error) {
		inner, err := s.Acquire(ctx, time.Hour)
		if err != nil {
			return nil, err
		}
		return controlSession{session: inner.(*session), renew: func(context.Context, time.Duration) error { return nil }}, nil
	}
}

func deafRenewal(c *control) {
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, renew: func(context.Context, time.Duration) error { return nil }}
	}
}

// epochOne is a session that claims to be the first.
type epochOne struct {
	driver.Session
}

func (epochOne) Epoch() int64 { return 1 }

func sameEpoch(c *control) {
	c.session = func(s *session) driver.Session { return epochOne{s} }
}

func silentWake(c *control) {
	c.wake = func() {}
}
