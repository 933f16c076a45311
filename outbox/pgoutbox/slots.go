package pgoutbox

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// switchPoll is how soon a replica that finds nothing to claim tries again while the slots are
// being changed: it waits for the end of a slot, not of a lease.
const switchPoll = 100 * time.Millisecond

// group returns the stored state of the source's group. It lists and starts the group if that has
// not been done.
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
		if err := s.lookBeside(ctx, start); err != nil {
			return g, err
		}
		at, err := chain.Outset(ctx, pool, s.ob.window, beginOf(start), start.At)
		if err == nil {
			err = chain.Begin(ctx, pool, s.cfg.Group, s.claimant.Name(), at)
		}
		if err != nil {
			return g, err
		}
		if at.Unused() {
			basis.LogEmpty(ctx, s.ob.cfg.Logger, s.cfg.Group)
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
	return g, err
}

// lookBeside logs messages that wait for other groups, and that lie before the start of a new
// group: the new group may be one of the others, under another name.
func (s *source) lookBeside(ctx context.Context, start driver.Start) error {
	if start.Oldest {
		return nil
	}
	groups, err := operator{s.ob}.Groups(ctx)
	for _, g := range groups {
		waits := basis.Topics{Group: g.Name, Then: g.Topics, Now: []string{""}} // never a topic
		if err == nil && g.Name != s.cfg.Group {
			err = s.ob.countTopics(ctx, s.ob.pool, &waits, nil)
			basis.LogBeside(ctx, s.ob.cfg.Logger, s.cfg.Group, g.Name, waits.Left)
		}
	}
	return err
}

// adopt records which log the position of the group belongs to, once it has one, unless something
// contradicts that.
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

// mayStart refuses to start a new group if its start is not stated, or if it was renamed.
func (s *source) mayStart(g pgwindow.Group) error {
	if !g.Listed && !g.Started {
		if err := basis.Renamed(s.cfg.Group, g.Renamed); err != nil {
			return err
		}
	}
	if !g.Started && !s.cfg.startOf().IsStated() {
		return errStartUnstated
	}
	return nil
}

// settle prepares the group for a claim: listed and started, with a pending change of its slots
// completed if possible.
func (s *source) settle(ctx context.Context) error {
	g, err := s.group(ctx)
	if err == nil && g.Next != 0 {
		_, err = s.ob.chain.Complete(ctx, s.ob.pool, s.cfg.Group)
	}
	return err
}

// claim locks the attempt's name on writer, and then takes the lease of a free slot. It also
// returns the topics with which the slot was last read.
func (s *source) claim(
	ctx context.Context, writer *pgx.Conn, attempt pglease.Attempt, ttl time.Duration,
) (lease pglease.Lease, topics []string, err error) {
	owner, err := s.ob.leases.Lock(ctx, writer, attempt)
	if err != nil {
		return pglease.Lease{}, nil, err
	}
	return s.ob.chain.Claim(ctx, writer, s.cfg.Group, owner, attempt.Former, ttl)
}

// bury releases the leases of relays whose sessions are gone and considers them dead. A live one,
// whose connection was cut, requests its share again at once.
func (s *source) bury(ctx context.Context) error {
	owners, err := s.ob.leases.BuryNow(ctx, s.ob.pool, s.cfg.Group)
	for _, owner := range owners {
		s.ob.cfg.Logger.InfoContext(ctx, "lease taken before its time: the session of its holder is gone",
			slog.String("group", s.cfg.Group), slog.String("leader", owner))
		if err == nil {
			_, err = s.ob.pool.Exec(ctx, s.sql.leave, s.cfg.Group, pglease.NameOf(owner))
		}
	}
	return err
}

// Slot implements driver.Slotted.
func (n *session) Slot() int {
	return int(n.log.lease.Slot.No)
}

var _ driver.Slotted = (*session)(nil)
