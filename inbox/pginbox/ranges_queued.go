package pginbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/driver"
)

// orFail is the claim that goes with the statements in a pipeline, or none where the
// claim has to come first.
func (h home) orFail(k keys) string {
	switch h.claim {
	case k.claim:
		return k.claimOrFail
	case k.claimRange:
		return k.claimOrFailRange
	default:
		return ""
	}
}

// queuedClaimer claims a message whose handler has queued its statements.
type queuedClaimer struct {
	*pipeStore

	q          *queued
	statements *pgx.Batch
}

var _ claimer = queuedClaimer{}

// remember implements claimer.
func (c queuedClaimer) remember(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	conn, err := c.pool.Acquire(ctx)
	if err != nil {
		return nil, 0, err
	}
	unit, status, err := c.claimQueued(ctx, conn, id, c.q, c.statements)
	if unit == nil {
		conn.Release()
		return nil, status, err
	}
	return unit, status, nil
}

// bare implements claimer.
func (c queuedClaimer) bare(ctx context.Context, lock *int64) (driver.Unit, driver.Status, error) {
	unit, status, err := c.poolStore.bare(ctx, lock)
	plain, ok := unit.(*poolUnit)
	if !ok {
		return nil, status, err
	}
	c.q.unit, c.q.rest = &pipeUnit{poolUnit: *plain, q: c.q}, c.statements
	return c.q.unit, status, nil
}
