package pginbox

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
)

// pipeStore is a store that sends the statements of a queued delivery with the claim.
type pipeStore struct {
	*store

	pool    *pgclaim.Pool
	forgets atomic.Bool // the server has run a claim that inserted nothing, and none since that did
}

// Claim implements driver.Store.
func (s *pipeStore) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	q, ok := ctx.Value(queuedKey{}).(*queued)
	if !ok || driver.GivingUp(ctx) {
		return s.store.Claim(ctx, id)
	}
	statements := q.call(ctx) // before a connection is taken, since it may panic
	return s.claimBy(ctx, queuedClaimer{s, q, statements}, id)
}

// claimQueued leaves conn to the returned unit, or to the caller if it returns no unit.
func (s *pipeStore) claimQueued(
	ctx context.Context, conn *pgclaim.PgxConn, messageID string, q *queued, statements *pgx.Batch,
) (driver.Unit, driver.Status, error) {
	if q.err != nil || statements.Len() == 0 || s.forgets.Load() || !s.fresh.expected() {
		return s.claimFirst(ctx, conn, messageID, q, statements)
	}
	id := pgclaim.StoredID(messageID)
	number, at, err := s.find(ctx, conn, id)
	if err != nil {
		return nil, 0, err
	}
	claim := s.statements.claimOrFail[at]
	if claim == "" {
		return s.claimFirst(ctx, conn, messageID, q, statements)
	}
	unit := &pipeUnit{PgxUnit: pgclaim.PgxUnit{PgxConn: conn}, q: q}
	switch outcome, err := unit.begin(ctx, claim, at.args(number, id, s.Lock(id)), statements); outcome {
	case pipeRan:
		return unit, driver.Claimed, nil
	case pipeLost:
		return nil, 0, pgclaim.Explain(err)
	case pipeForgot:
		s.forgets.Store(true)
		pgclaim.Rollback(ctx, conn.Conn) // if COMMIT was held back
		return nil, 0, err
	case pipeRefused:
		s.fresh.doubt()
		pgclaim.Rollback(ctx, conn.Conn)
		status, err := s.lookUp(ctx, conn, at, number, id)
		if err != nil || status == driver.Duplicate {
			return nil, status, err
		}
	case pipeStopped:
		pgclaim.Rollback(ctx, conn.Conn)
	}
	// The plain claim finds out the reason: another delivery, a commit that would not be durable,
	// a missing schema. If it was a statement of the handler, this delivery claims the message
	// and the statement fails again.
	return s.claimFirst(ctx, conn, messageID, q, statements)
}

// claimFirst claims the message first, and sends the statements only after that.
func (s *pipeStore) claimFirst(
	ctx context.Context, conn *pgclaim.PgxConn, messageID string, q *queued, statements *pgx.Batch,
) (driver.Unit, driver.Status, error) {
	unit, status, err := s.claimOn(ctx, conn, messageID)
	if status == driver.Claimed {
		s.forgets.Store(false)
	}
	return q.later(unit, statements), status, err
}

// later returns unit as one whose statements are not sent yet; nil stays nil.
func (q *queued) later(unit driver.Unit, statements *pgx.Batch) driver.Unit {
	opened, ok := unit.(*pgclaim.PgxUnit)
	if !ok {
		return nil
	}
	q.unit, q.rest = &pipeUnit{PgxUnit: *opened, q: q}, statements
	return q.unit
}

// queuedClaimer claims a message whose handler has queued its statements.
type queuedClaimer struct {
	*pipeStore

	q          *queued
	statements *pgx.Batch
}

// remember implements claimer.
func (c queuedClaimer) remember(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	conn, err := c.pool.TakePgx(ctx)
	if err != nil {
		return nil, 0, err
	}
	unit, status, err := c.claimQueued(ctx, conn, id, c.q, c.statements)
	if unit == nil {
		return nil, status, pgclaim.GiveBack(ctx, conn, err)
	}
	return unit, status, nil
}

// unrecorded implements claimer.
func (c queuedClaimer) unrecorded(ctx context.Context, lock *int64) (driver.Unit, driver.Status, error) {
	unit, status, err := c.store.unrecorded(ctx, lock)
	return c.q.later(unit, c.statements), status, err
}
