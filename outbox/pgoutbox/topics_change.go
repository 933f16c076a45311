package pgoutbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// changeTopics compares the topics with which a slot was last read with the new ones. It records
// the change in the lease, and refuses one that leaves messages behind.
func (s *source) changeTopics(ctx context.Context, conn *pgx.Conn, lease pglease.Lease, then []string) error {
	c := basis.Topics{Group: s.cfg.Group, Then: then, Now: s.cfg.Topics}
	if basis.SameTopics(c.Then, c.Now) {
		return nil
	}
	slot := lease.Slot.No
	err := s.ob.countTopics(ctx, conn, &c, &slot)
	if err == nil {
		err = c.Err()
	}
	if err == nil {
		_, err = conn.Exec(ctx, s.sql.topics, c.Group, c.Now, basis.AllTopics(c.Now), slot, lease.Epoch)
	}
	if err == nil {
		c.Log(ctx, s.ob.cfg.Logger)
	}
	return err
}

// compareTopics logs that this relay reads other topics than g, if other relays are alive.
func (s *source) compareTopics(ctx context.Context, g pgwindow.Group) error {
	look, err := s.ob.chain.Look(ctx, s.ob.pool, s.cfg.Group, pglease.Former{})
	if err == nil && (look.Held != nil || look.Members > 0) {
		change := basis.Topics{Group: s.cfg.Group, Then: g.Topics, Now: s.cfg.Topics}
		change.LogStandby(ctx, s.ob.cfg.Logger)
	}
	return err
}

// countTopics counts what a change of the topics of a slot, or of all slots, leaves behind, and
// those that the position has passed.
func (o *Outbox) countTopics(ctx context.Context, db pgwindow.Querier, c *basis.Topics, slot *int16) error {
	then, now := likePatterns(basis.AllTopics(c.Then)), likePatterns(basis.AllTopics(c.Now))
	return db.QueryRow(ctx, o.sql.topicsCount, c.Group, slot, then, now).Scan(&c.Left, &c.Passed)
}

// errDryRun rolls back a change that was requested as a dry run.
var errDryRun = errors.New("leat: a dry run")

// SetTopics implements admin.Manager.
func (o operator) SetTopics(ctx context.Context, req admin.GroupRequest) (changed admin.Changed, err error) {
	if err := errors.Join(admin.Complete(&req), req.Fits("set_topics")); err != nil {
		return admin.Changed{}, err
	}
	if len(req.Topics) == 0 {
		req.Topics = nil
	}
	err = o.changeGroup(ctx, req.Group, "set_topics", req.By, func(tx pgx.Tx) (map[string]any, error) {
		g, err := o.chain.Group(ctx, tx, req.Group)
		if err == nil && !g.Listed {
			err = fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, req.Group)
		}
		if err == nil {
			err = o.idle(ctx, tx, req.Group)
		}
		c := basis.Topics{Group: req.Group, Then: g.Topics, Now: req.Topics}
		if err == nil {
			err = o.countTopics(ctx, tx, &c, nil)
		}
		if changed.Unread = c.Left; err == nil && req.DryRun {
			err = errDryRun
		}
		if err != nil {
			return nil, err
		}
		_, err = tx.Exec(ctx, o.sql.setTopics, req.Group, req.Topics, basis.AllTopics(req.Topics))
		return map[string]any{"topics": req.Topics, "unread": c.Left}, err
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return admin.Changed{}, err
	}
	return changed, nil
}
