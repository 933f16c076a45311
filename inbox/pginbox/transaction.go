package pginbox

import (
	"context"
	"database/sql"
	"errors"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/failpoint"
)

// afterTrylock passes the failpoint at which the lock is held. In every case the unit is either
// returned or has ended.
func afterTrylock(ctx context.Context, unit driver.Unit) (_ driver.Unit, _ driver.Status, err error) {
	passed := false
	defer func() {
		if !passed {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pgclaim.CleanUpTimeout)
			defer cancel()
			_ = unit.Rollback(ctx) // the failpoint's error is the one to report
		}
	}()
	if err := failpoint.Inject(ctx, failpoint.ConsumerAfterTrylock); err != nil {
		return nil, 0, err
	}
	passed = true
	return unit, driver.Claimed, nil
}

// unrecorded implements claimer.
func (s *store) unrecorded(ctx context.Context, lock *int64) (driver.Unit, driver.Status, error) {
	unit, found, err := s.open(ctx, s.statements.claimNothing, lock)
	if err == nil && !found {
		return nil, driver.Busy, nil
	}
	return unit, driver.Claimed, err
}

// ClaimRedriven implements driver.Parker.
func (s *store) ClaimRedriven(ctx context.Context, r driver.Redriven) (driver.Unit, bool, error) {
	claim, args := s.RedriveClaim(r)
	return s.open(ctx, claim, args...)
}

// open opens a transaction with a claim that needs no further query if it finds no row.
func (s *store) open(ctx context.Context, claim string, args ...any) (unit driver.Unit, found bool, err error) {
	conn, err := s.handle.Take(ctx)
	if err != nil {
		return nil, false, err
	}
	unit, err = pgclaim.Claim(ctx, conn, claim, args...)
	if err == nil {
		return unit, true, nil
	}
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, pgclaim.GiveBack(ctx, conn, conn.End(ctx))
	}
	return nil, false, pgclaim.Explain(pgclaim.GiveBack(ctx, conn, errors.Join(err, conn.End(ctx))))
}
