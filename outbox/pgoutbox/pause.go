package pgoutbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

var _ driver.Pausable = (*source)(nil)

// Paused implements driver.Pausable.
func (s *source) Paused(ctx context.Context) ([]string, error) {
	patterns, err := s.ob.paused(ctx, s.ob.pool, s.cfg.Group)
	return patterns, unusable(describe(err))
}

func (o *Outbox) paused(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, group string,
) (patterns []string, err error) {
	err = db.QueryRow(ctx, o.sql.groupPaused, group).Scan(&patterns)
	return patterns, err
}

// Pause implements admin.Manager.
func (o operator) Pause(ctx context.Context, req admin.PauseRequest) error {
	return o.setPaused(ctx, "pause", req, req.Pause)
}

// Resume implements admin.Manager.
func (o operator) Resume(ctx context.Context, req admin.PauseRequest) error {
	return o.setPaused(ctx, "resume", req, req.Resume)
}

func (o *Outbox) setPaused(ctx context.Context, action string, req admin.PauseRequest, change func(paused []string) ([]string, error)) error {
	if err := admin.Complete(&req); err != nil {
		return err
	}
	return o.changeGroup(ctx, req.Group, action, req.By, func(tx pgx.Tx) (map[string]any, error) {
		var known bool
		if err := tx.QueryRow(ctx, o.sql.groupKnown, req.Group, []string{}).Scan(&known, nil, nil); err != nil {
			return nil, err
		}
		if !known {
			return nil, fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, req.Group)
		}
		before, err := o.paused(ctx, tx, req.Group)
		if err != nil {
			return nil, err
		}
		after, err := change(before)
		if err != nil {
			return nil, err
		}
		var name string
		err = tx.QueryRow(ctx, o.sql.pause, req.Group, after).Scan(&name)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, req.Group)
		}
		return map[string]any{"topics": req.Topics, "paused": after}, err
	})
}
