package pgwindow

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox/driver"
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

// Timeline records the timeline of the cluster on which the group is relayed, and returns its last
// change; the zero value if there was none, or if the server does not report its timeline.
func (c *Chain) Timeline(ctx context.Context, db Querier, group string) (change driver.ServerChange, err error) {
	var before, now, micros int64
	err = db.QueryRow(ctx, c.timeline, group).Scan(&before, &now, &micros)
	if errors.Is(err, pgx.ErrNoRows) || pgerr.Is(err, pgerr.FeatureNotSupported) {
		return change, nil
	}
	if err == nil {
		change = TimelineChange(before, now, micros)
	}
	return change, err
}

// TimelineChange returns a change of the timeline that was noticed some microseconds ago.
func TimelineChange(before, now, micros int64) driver.ServerChange {
	name := func(timeline int64) string { return "timeline " + strconv.FormatInt(timeline, 10) }
	return driver.ServerChange{Before: name(before), Now: name(now), Age: time.Duration(micros) * time.Microsecond}
}
