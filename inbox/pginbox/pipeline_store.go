package pginbox

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/driver"
)

// carefully is how many messages are claimed before their statements are sent after
// one that was not to be run.
const carefully = 100

// pipeStore is a poolStore that sends the statements of a queued delivery with
// the claim.
type pipeStore struct {
	*poolStore

	careful atomic.Int64 // messages to go
}

// Claim implements driver.Store.
func (s *pipeStore) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	q, ok := ctx.Value(queuedKey{}).(*queued)
	if !ok || driver.GivingUp(ctx) {
		return s.poolStore.Claim(ctx, id)
	}
	statements := q.call(ctx) // before there is a connection to lose if it panics
	return s.settle(ctx, queuedClaimer{s, q, statements}, id)
}

// claimQueued leaves conn to the unit, or to the caller where it returns none.
func (s *pipeStore) claimQueued(
	ctx context.Context, conn *pgxpool.Conn, messageID string, q *queued, statements *pgx.Batch,
) (driver.Unit, driver.Status, error) {
	if q.err != nil || statements.Len() == 0 || s.isCareful() {
		return s.claimFirst(ctx, conn, messageID, q, statements)
	}
	id := s.id(messageID)
	number, err := s.number(ctx, conn.Conn())
	if err != nil {
		return nil, 0, err
	}
	at, err := s.home(ctx, conn.Conn(), id)
	if err != nil {
		return nil, 0, err
	}
	claim := at.orFail(s.keys)
	if claim == "" {
		return s.claimFirst(ctx, conn, messageID, q, statements)
	}
	unit := &pipeUnit{poolUnit: poolUnit{conn: conn}, q: q}
	switch outcome, err := unit.begin(ctx, s, claim, number, id, statements); outcome {
	case pipeRan:
		return unit, driver.Claimed, nil
	case pipeLost:
		return nil, 0, explain(err)
	case pipeRefused:
		s.careful.Store(carefully)
		giveUp(ctx, conn.Conn())
		status, err := s.look(ctx, conn.Conn(), at, number, id)
		if err != nil || status == driver.Duplicate {
			return nil, status, err
		}
	case pipeStopped:
		giveUp(ctx, conn.Conn())
	}
	// Whatever it was, the plain claim finds out: another delivery, a commit that
	// would not be durable, a schema that is not there. If it was a statement of the
	// handler, the message is ours and the statement fails again.
	return s.claimFirst(ctx, conn, messageID, q, statements)
}

// claimFirst claims the message and leaves the statements for when it is ours.
func (s *pipeStore) claimFirst(
	ctx context.Context, conn *pgxpool.Conn, messageID string, q *queued, statements *pgx.Batch,
) (driver.Unit, driver.Status, error) {
	tx, status, err := s.claimOn(ctx, conn.Conn(), messageID)
	if tx == nil {
		return nil, status, err
	}
	q.unit, q.rest = &pipeUnit{poolUnit: poolUnit{conn: conn, tx: tx}, q: q}, statements
	return q.unit, status, nil
}

// isCareful counts down.
func (s *pipeStore) isCareful() bool {
	return s.careful.Load() > 0 && s.careful.Add(-1) >= 0
}
