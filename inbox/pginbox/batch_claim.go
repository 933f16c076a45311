package pginbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgerr"
)

// ClaimBatch implements driver.BatchStore.
func (s *store) ClaimBatch(ctx context.Context, items []driver.BatchItem) (driver.Unit, []driver.Status, error) {
	conn, err := s.handle.Take(ctx)
	if err != nil {
		return nil, nil, err
	}
	unit, statuses, err := s.claimBatchOn(ctx, conn, items)
	if unit == nil {
		return nil, statuses, pgclaim.GiveBack(ctx, conn, err)
	}
	return unit, statuses, nil
}

// claimBatchOn leaves conn to the returned unit, or to the caller if it returns no unit.
func (s *store) claimBatchOn(
	ctx context.Context, conn pgclaim.Conn, items []driver.BatchItem,
) (driver.Unit, []driver.Status, error) {
	number, part, err := s.choose(ctx, conn, items)
	if err != nil || len(part.items) == 0 {
		return nil, allAlone(items), err
	}
	ids, locks := make([]pgtype.UUID, len(part.items)), make([]int64, len(part.items))
	for i, item := range part.items {
		ids[i] = pgclaim.StoredID(item.ID)
		locks[i] = s.Lock(ids[i])
	}
	args := part.at.args(number, ids, locks)
	unit, statuses, err := s.claimFresh(ctx, conn, s.statements.claimFresh[part.at], args, len(ids))
	if statuses == nil && err == nil {
		unit, statuses, err = s.claimEach(ctx, conn, s.statements.claimBatch[part.at], args, len(ids))
	}
	switch {
	case pgerr.Is(err, pgerr.CheckViolation):
		return nil, allAlone(items), nil
	case pgerr.Is(err, pgerr.OutOfMemory):
		return nil, nil, fmt.Errorf("%w: %w", driver.ErrBatchTooLarge, err)
	case err != nil:
		return nil, nil, pgclaim.Explain(err)
	default:
		return unit, part.statuses(statuses), nil
	}
}

// claimFresh claims n messages if all of them are new. Otherwise it claims none and returns no
// statuses.
func (s *store) claimFresh(
	ctx context.Context, conn pgclaim.Conn, claim string, args []any, n int,
) (driver.Unit, []driver.Status, error) {
	if claim == "" || !s.fresh.expected() {
		return nil, nil, nil
	}
	unit, err := conn.Insert(ctx, claim, args, int64(n))
	if err == nil {
		statuses, _ := batchAnswer{}.statuses(n)
		return unit, statuses, nil
	}
	ended := conn.End(ctx)
	if errors.Is(err, sql.ErrNoRows) || pgerr.Is(err, pgerr.UniqueViolation, pgerr.SerializationFailure) {
		s.fresh.doubt()
		err = nil
	}
	return nil, nil, errors.Join(err, ended)
}

// claimEach claims those of n messages that this process may run. If there are none it returns no
// Unit.
func (s *store) claimEach(
	ctx context.Context, conn pgclaim.Conn, claim string, args []any, n int,
) (driver.Unit, []driver.Status, error) {
	var a batchAnswer
	unit, err := conn.Open(ctx, claim, args, &a.setting, &a.refused, &a.seen)
	statuses, claimed := a.statuses(n)
	if err == nil && claimed > 0 && a.setting == pgclaim.Async {
		err = pgclaim.ErrNotDurable
	}
	if err == nil && claimed > 0 {
		return unit, statuses, nil
	}
	return nil, statuses, errors.Join(err, conn.End(ctx))
}

// batchAnswer is the row that the claim of a batch returns. Places count from 1.
type batchAnswer struct {
	setting       string
	refused, seen []int64
}

// statuses returns the statuses of n messages, and how many of them are claimed.
func (a batchAnswer) statuses(n int) (statuses []driver.Status, claimed int) {
	statuses = make([]driver.Status, n)
	for i := range statuses {
		statuses[i] = driver.Claimed
	}
	for _, place := range a.refused {
		statuses[place-1] = driver.Busy
	}
	for _, place := range a.seen {
		statuses[place-1] = driver.Duplicate
	}
	return statuses, n - len(a.refused) - len(a.seen)
}
