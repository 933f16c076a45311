package pgwindow

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/pgerr"
)

// Contradicts returns basis.ErrNumberedTwice if the log holds rows that contradict the newest
// windows of the given slots of group, or of all its slots. Then its numbers began anew, or its
// sequence was set back, in a way that Facts cannot detect.
func (c *Chain) Contradicts(ctx context.Context, db Querier, group string, slots ...int16) error {
	var found bool
	err := db.QueryRow(ctx, c.contradicts, group, slots).Scan(&found)
	if err == nil && found {
		err = basis.Refuse(basis.ErrNumberedTwice, "rows of later transactions have numbers that were given out before it: "+
			"the sequence was set back (setval), or rows came from another server")
	}
	return err
}

// Adopt records that the position of group belongs to the log of facts, if nothing is recorded.
// The caller has checked that nothing contradicts it.
func (c *Chain) Adopt(ctx context.Context, db Querier, group string, facts Facts) error {
	_, err := db.Exec(ctx, c.adopt, group, facts.Incarnation)
	return err
}

// Timeline records the timeline of the cluster on which the group is relayed, and returns the one
// before. Both are the same if it has not changed, or if the server does not report it.
func (c *Chain) Timeline(ctx context.Context, db Querier, group string) (before, now int64, err error) {
	err = db.QueryRow(ctx, c.timeline, group).Scan(&before, &now)
	if errors.Is(err, pgx.ErrNoRows) || pgerr.Is(err, pgerr.FeatureNotSupported) {
		return 0, 0, nil
	}
	if before == 0 {
		before = now
	}
	return before, now, err
}
