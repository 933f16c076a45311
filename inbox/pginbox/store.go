package pginbox

import (
	"context"
	"database/sql"
	"errors"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/inbox/internal/pgpark"
	"github.com/leat-go/leat/internal/failpoint"
)

// store is the driver.Store of both kinds of inbox.
type store struct {
	*claims
	*pgpark.Store
	policy

	handle pgclaim.Handle
}

var (
	_ driver.Parker         = (*store)(nil)
	_ driver.Keeper         = (*store)(nil)
	_ driver.Conflicter     = (*store)(nil)
	_ driver.BatchAttempter = (*store)(nil)
)

func newStore(handle pgclaim.Handle, name string, cfg Config) (*store, error) {
	names, to := cfg.schema().Names(), alarms{consumer: name, log: cfg.Logger, onAlarm: cfg.OnAlarm}
	who, err1 := newConsumer(names, name)
	where, err2 := newRanges(cfg, to)
	statements, err3 := newStatements(names)
	c := &claims{consumer: who, placer: where, statements: statements}
	parking, err4 := pgpark.New(pgpark.Inbox{
		Consumer: who.Consumer, Number: c.number, Lock: c.lock, Ranged: c.ranged, Claim: c.claimOn,
	}, handle.DB(), names, cfg.SyncAttempts)
	return &store{
		claims: c, Store: parking, handle: handle,
		policy: policy{alarms: to, tooOld: cfg.TooOld, observe: cfg.Observe, onObserved: cfg.OnObserved},
	}, errors.Join(err1, err2, err3, err4)
}

// Claim implements driver.Store.
func (s *store) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	return s.settle(ctx, s, id)
}

// claimer claims for settle.
type claimer interface {
	// remember claims id, or returns an error that wraps one of driver.ErrTooOld and
	// driver.ErrTooNew.
	remember(ctx context.Context, id string) (driver.Unit, driver.Status, error)
	// bare begins a transaction that records no message. If lock is not nil it is
	// Busy while another one holds it.
	bare(ctx context.Context, lock *int64) (driver.Unit, driver.Status, error)
}

// settle claims id by c, and applies the policies if that cannot be.
func (s *store) settle(ctx context.Context, c claimer, id string) (driver.Unit, driver.Status, error) {
	unit, status, err := c.remember(ctx, id)
	switch {
	case s.observe:
		return s.observed(ctx, c, id, unit, status, err)
	case errors.Is(err, driver.ErrTooOld):
		return s.old(ctx, c, id, err)
	case errors.Is(err, driver.ErrTooNew):
		s.alarm(ctx, Alarm{Kind: AlarmTooNew, ID: id})
	}
	return unit, status, err
}

// old applies the policy to a message that may be forgotten. Its lock is tried in
// any case: a delivery that began before the message became too old may still be
// running, and whether that will commit is not known.
func (s *store) old(ctx context.Context, c claimer, id string, tooOld error) (driver.Unit, driver.Status, error) {
	lock := s.lock(pgclaim.StoredID(id))
	unit, status, err := c.bare(ctx, &lock)
	if err != nil || status != driver.Claimed {
		return nil, status, err
	}
	s.alarm(ctx, Alarm{Kind: AlarmTooOld, ID: id, Policy: s.tooOld})
	if s.tooOld == TooOldProcess {
		return unit, driver.Claimed, nil
	}
	if err := unit.Rollback(ctx); err != nil {
		return nil, 0, err
	}
	if s.tooOld == TooOldDrop {
		return nil, driver.Duplicate, nil
	}
	return nil, 0, tooOld
}

// remember implements claimer.
func (s *store) remember(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	conn, err := s.handle.Take(ctx)
	if err != nil {
		return nil, 0, err
	}
	unit, status, err := s.claimOn(ctx, conn, id)
	if unit == nil {
		return nil, status, errors.Join(err, conn.Release())
	}
	return afterTrylock(ctx, unit)
}

// afterTrylock passes the point of failure at which the lock is held. Whatever
// happens there, the unit is returned or has ended.
func afterTrylock(ctx context.Context, unit driver.Unit) (_ driver.Unit, _ driver.Status, err error) {
	passed := false
	defer func() {
		if !passed {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pgclaim.CleanUpTimeout)
			defer cancel()
			_ = unit.Rollback(ctx) // the point's own error is the one to report
		}
	}()
	if err := failpoint.Inject(ctx, failpoint.ConsumerAfterTrylock); err != nil {
		return nil, 0, err
	}
	passed = true
	return unit, driver.Claimed, nil
}

// bare implements claimer.
func (s *store) bare(ctx context.Context, lock *int64) (driver.Unit, driver.Status, error) {
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

// open opens a transaction with a claim that needs no look at what it has not found.
func (s *store) open(ctx context.Context, claim string, args ...any) (unit driver.Unit, found bool, err error) {
	conn, err := s.handle.Take(ctx)
	if err != nil {
		return nil, false, err
	}
	unit, err = pgclaim.Claim(ctx, conn, claim, args...)
	if err == nil {
		return unit, true, nil
	}
	ended := errors.Join(conn.End(ctx), conn.Release())
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, ended
	}
	return nil, false, pgclaim.Explain(errors.Join(err, ended))
}
