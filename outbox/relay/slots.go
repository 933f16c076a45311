package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// slotLeader leads the slots of a source: as many as are this relay's fair share, each
// in a term of its own. A source that is not Sharded has one slot. All of it but
// the terms runs in the goroutine of run.
type slotLeader struct {
	relay   *Relay
	sharded driver.Sharded // nil where the source is not
	share   driver.Share
	shared  time.Time // when share was asked for; zero asks anew
	joined  bool      // others count this relay
	checked bool
	retry   jitter.Backoff
	bell    bell

	members []*member // oldest first
	ended   chan ended
}

// member is a term that runs.
type member struct {
	term   *term
	cancel context.CancelFunc
	given  bool // its slot is being given up
}

// ended is what came of a term.
type ended struct {
	member *member
	err    error
}

func newSlotLeader(r *Relay) *slotLeader {
	c := &slotLeader{
		relay: r, share: driver.Share{Slots: 1, Fair: 1}, ended: make(chan ended),
		retry: jitter.Backoff{Min: r.cfg.BackoffMin, Max: r.cfg.BackoffMax},
	}
	c.sharded, _ = r.source.(driver.Sharded)
	return c
}

// run leads until ctx ends or the source is unusable.
func (c *slotLeader) run(ctx context.Context) error {
	listening, cancel := context.WithCancel(ctx)
	wakes := c.relay.source.Wakes(listening) // before the first look, so that none is missed
	rung := make(chan struct{})
	go func() {
		defer close(rung)
		c.bell.ring(listening, wakes)
	}()
	defer func() { cancel(); <-rung }()

	var err error
	for ctx.Err() == nil && err == nil {
		var wait time.Duration
		if wait, err = c.staff(ctx); err == nil {
			err = c.await(ctx, wait)
		}
	}
	if errors.Is(err, driver.ErrSourceUnusable) {
		c.relay.alarm(ctx, Alarm{Kind: AlarmSourceUnusable, Detail: err.Error()})
	}
	return c.endAll(ctx, err)
}

// staff brings the number of terms to the fair share, and returns the time until
// it is to be called again. Its only errors are those that end Run.
func (c *slotLeader) staff(ctx context.Context) (time.Duration, error) {
	r := c.relay
	if !c.checked {
		if err := r.check(ctx); err != nil {
			return c.retry.Next(), fatal(err)
		}
		c.checked = true
	}
	if err := c.refreshShare(ctx); err != nil {
		return c.retry.Next(), fatal(err)
	}
	for i := len(c.members) - 1; i >= 0 && c.staying() > c.share.Fair; i-- {
		if m := c.members[i]; !m.given {
			m.given = true
			m.cancel()
		}
	}
	for len(c.members) < c.share.Fair && ctx.Err() == nil {
		t, err := r.acquire(ctx)
		switch {
		case errors.Is(err, driver.ErrLeaseHeld):
			return c.soon(r.standby(err)), nil
		case err != nil:
			r.startsOver(ctx, err)
			return c.retry.Next(), fatal(err)
		}
		c.start(ctx, t)
	}
	return c.soon(r.cfg.Lease), nil
}

// soon is d, or less where the fair share is to be asked for sooner.
func (c *slotLeader) soon(d time.Duration) time.Duration {
	if c.sharded == nil {
		return d
	}
	return min(d, max(c.relay.cfg.Lease/3-time.Since(c.shared), 0))
}

// refreshShare says that this relay lives and asks for its share, every third of
// a lease. Where that fails the share stays what it was.
func (c *slotLeader) refreshShare(ctx context.Context) error {
	r := c.relay
	if c.sharded == nil || !c.shared.IsZero() && time.Since(c.shared) < r.cfg.Lease/3 {
		return nil
	}
	asked := time.Now()
	c.joined = true
	bounded, cancel := context.WithTimeout(ctx, r.cfg.Lease/3)
	defer cancel()
	share, err := c.sharded.Share(bounded, r.cfg.Lease)
	if err != nil {
		if ctx.Err() == nil {
			r.onError(ctx, "share", err)
		}
		return err
	}
	c.shared, c.share = asked, share
	return r.refuseSlots(share)
}

// refuseSlots returns an error where the order forbids several slots.
func (r *Relay) refuseSlots(share driver.Share) error {
	if r.cfg.Order != OrderTotal || share.Slots == 1 {
		return nil
	}
	return fmt.Errorf("%w: %w", driver.ErrSourceUnusable, outbox.ConfigError("Order", "total",
		fmt.Sprintf("needs a source with one slot, this one has %d", share.Slots)))
}

// staying is the number of terms whose slots are not being given up.
func (c *slotLeader) staying() int {
	n := 0
	for _, m := range c.members {
		if !m.given {
			n++
		}
	}
	return n
}

func (c *slotLeader) start(ctx context.Context, t *term) {
	ctx, cancel := context.WithCancel(ctx)
	m := &member{term: t, cancel: cancel}
	c.members = append(c.members, m)
	t.wakes = c.bell.join(t)
	go func() { c.ended <- ended{m, t.run(ctx)} }()
}

// await waits for d, the end of a term or the end of ctx. Its only errors are
// those that end Run. A term that has ended comes first, since its error may ask for a
// wait before anything is begun.
func (c *slotLeader) await(ctx context.Context, d time.Duration) error {
	select {
	case e := <-c.ended:
		return c.removeEnded(ctx, e)
	default:
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-timer.C:
		return nil
	case e := <-c.ended:
		return c.removeEnded(ctx, e)
	}
}

// removeEnded takes a term that has ended off the list, and waits before another takes
// its place where that is due to an error.
func (c *slotLeader) removeEnded(ctx context.Context, e ended) error {
	c.drop(e.member)
	if e.member.term.acked.Load() > 0 {
		c.retry.Reset()
	}
	switch {
	case ctx.Err() != nil:
		return stopError(e.err)
	case e.err == nil || errors.Is(e.err, driver.ErrSlotClosed):
		c.shared = time.Time{} // the slots may be others now
		return nil
	}
	c.relay.startsOver(ctx, e.err)
	if err := fatal(e.err); err != nil {
		return err
	}
	return c.await(ctx, c.retry.Next())
}

func (c *slotLeader) drop(m *member) {
	m.cancel()
	c.bell.leave(m.term)
	for i := range c.members {
		if c.members[i] == m {
			c.members = append(c.members[:i], c.members[i+1:]...)
			return
		}
	}
}

// endAll ends all terms, waits for them, and returns what Run returns: err, or
// an error of the drain.
func (c *slotLeader) endAll(ctx context.Context, err error) error {
	for _, m := range c.members {
		m.cancel()
	}
	for len(c.members) > 0 {
		e := <-c.ended
		c.drop(e.member)
		if stop := stopError(e.err); ctx.Err() != nil && err == nil {
			err = stop
		}
	}
	if !c.joined {
		return err
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.relay.cfg.DrainTimeout/4)
	defer cancel()
	if lerr := c.sharded.Leave(bounded); lerr != nil {
		c.relay.onError(bounded, "leave", lerr)
	}
	return err
}

// startsOver says that a term or the attempt to begin one has failed.
func (r *Relay) startsOver(ctx context.Context, err error) {
	if ctx.Err() == nil {
		r.log.WarnContext(ctx, "relay starts over", slog.Any("error", err))
	}
}

// fatal returns err if it ends Run.
func fatal(err error) error {
	if errors.Is(err, driver.ErrSourceUnusable) {
		return err
	}
	return nil
}

// stopError returns the part of a term's error that Run returns after its context
// has ended.
func stopError(err error) error {
	if errors.Is(err, ErrDrainTimeout) {
		return err
	}
	return nil
}
