package pgoutbox

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// switchPoll is how soon a replica that finds nothing to claim looks again while
// the slots are being changed: it waits for the end of a slot, not of a lease.
const switchPoll = 100 * time.Millisecond

// group returns what is stored of the source's group, which it lists, and starts,
// where that has not been done.
func (s *source) group(ctx context.Context) (pgwindow.Group, error) {
	chain, pool := s.ob.chain, s.ob.pool
	g, err := chain.Group(ctx, pool, s.cfg.Group)
	if err != nil {
		return g, err
	}
	if !g.Listed {
		if err := s.mayStart(g); err != nil {
			return g, err
		}
		if err := chain.List(ctx, pool, s.cfg.Group, int16(s.cfg.Slots), s.cfg.Topics); err != nil { //nolint:gosec // at most 64
			return g, err
		}
	}
	if !g.Started {
		if err := s.mayStart(g); err != nil {
			return g, err
		}
		start := s.cfg.startOf()
		at, err := chain.Outset(ctx, pool, s.ob.window, beginOf(start), start.At)
		if err == nil {
			err = chain.Begin(ctx, pool, s.cfg.Group, s.claimant.Name(), at)
		}
		if err != nil {
			return g, err
		}
	}
	if g.Started && g.Incarnation == 0 {
		if err := s.adopt(ctx); err != nil {
			return g, err
		}
	}
	if !g.Listed || !g.Started {
		g, err = chain.Group(ctx, pool, s.cfg.Group)
	}
	if err == nil && !slices.Equal(g.Topics, s.cfg.Topics) {
		_, err = pool.Exec(ctx, s.sql.topics, s.cfg.Group, s.cfg.Topics)
	}
	return g, err
}

// adopt notes which log the position of the group belongs to, once it has one, unless
// something speaks against it.
func (s *source) adopt(ctx context.Context) error {
	facts, err := s.ob.window.Facts(ctx, s.ob.pool)
	if err != nil {
		return err
	}
	if err := s.checkPositions(ctx, facts); err != nil {
		return err
	}
	return s.ob.chain.Adopt(ctx, s.ob.pool, s.cfg.Group, facts)
}

// mayStart refuses to start a new group if nobody has said where it begins.
func (s *source) mayStart(g pgwindow.Group) error {
	if !g.Started && !s.cfg.startOf().IsStated() {
		return errStartUnstated
	}
	return nil
}

// claim takes the lease of a slot that is free.
func (s *source) claim(ctx context.Context, attempt pglease.Attempt, ttl time.Duration) (pglease.Lease, error) {
	g, err := s.group(ctx)
	if err != nil {
		return pglease.Lease{}, err
	}
	if g.Next != 0 {
		if _, err := s.ob.chain.Complete(ctx, s.ob.pool, s.cfg.Group); err != nil {
			return pglease.Lease{}, err
		}
	}
	lease, err := s.ob.chain.Claim(ctx, s.ob.pool, s.cfg.Group, attempt.Owner, attempt.Former, ttl)
	if held, ok := errors.AsType[*driver.LeaseHeldError](err); ok && g.Next != 0 {
		held.Remaining = switchPoll
	}
	return lease, err
}

// Slot implements driver.Slotted.
func (n *session) Slot() int {
	return int(n.log.lease.Slot.No)
}

var _ driver.Slotted = (*session)(nil)
