package pginbox

import (
	"context"
	"errors"
	"log/slog"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/inbox/internal/pgpark"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/outbox"
)

// store is the driver.Store of both kinds of inbox.
type store struct {
	*claims
	*pgpark.Store
	policy

	handle pgclaim.Handle
	fresh  fresh // decides whether batches and queued messages are claimed as new
}

var (
	_ driver.Parker         = (*store)(nil)
	_ driver.Keeper         = (*store)(nil)
	_ driver.Classifier     = (*store)(nil)
	_ driver.BatchAttempter = (*store)(nil)
	_ driver.IDNamer        = (*store)(nil)
)

func newStore(handle pgclaim.Handle, sessions pgpin.Sessions, name string, cfg Config) (*store, error) {
	names, to := cfg.schema().Names(), alarms{consumer: name, log: cfg.Logger, hooks: cfg.Hooks}
	who, err1 := newConsumer(sessions, names, name)
	where, err2 := newRanges(cfg, to)
	statements, err3 := newStatements(names)
	c := &claims{consumer: who, placer: where, statements: statements}
	parking, err4 := pgpark.New(pgpark.Inbox{
		Consumer: who.Consumer, Number: c.number, Lock: c.Lock, Ranged: c.ranged, Claim: c.claimOn,
	}, handle.DB(), names, cfg.SyncAttempts)
	return &store{
		claims: c, Store: parking, handle: handle,
		policy: policy{alarms: to, tooOld: cfg.TooOld, observe: cfg.Observe},
	}, errors.Join(err1, err2, err3, err4)
}

// Claim implements driver.Store.
func (s *store) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	return s.claimBy(ctx, s, id)
}

// claimer claims a message for claimBy, which applies the policies.
type claimer interface {
	// remember claims id, or returns an error that wraps one of driver.ErrTooOld and
	// driver.ErrTooNew.
	remember(ctx context.Context, id string) (driver.Unit, driver.Status, error)
	// unrecorded begins a transaction that records no message. If lock is not nil, the status is
	// Busy while another transaction holds it.
	unrecorded(ctx context.Context, lock *int64) (driver.Unit, driver.Status, error)
}

// claimBy claims id by c, and applies the policies if that is not possible.
func (s *store) claimBy(ctx context.Context, c claimer, id string) (driver.Unit, driver.Status, error) {
	unit, status, err := c.remember(ctx, id)
	switch {
	case s.observe:
		return s.observed(ctx, c, id, unit, status, err)
	case errors.Is(err, driver.ErrTooOld):
		return s.old(ctx, c, id, err)
	case errors.Is(err, driver.ErrTooNew):
		s.alarm(ctx, outbox.AlarmEvent{Kind: AlarmTooNew, MessageID: id})
	}
	return unit, status, err
}

// old applies the policy to a message that may have been forgotten. It tries the message's lock
// in any case: a delivery that began before the message became too old may still be running, and
// may commit.
func (s *store) old(ctx context.Context, c claimer, id string, tooOld error) (driver.Unit, driver.Status, error) {
	lock := s.Lock(pgclaim.StoredID(id))
	unit, status, err := c.unrecorded(ctx, &lock)
	if err != nil || status != driver.Claimed {
		return nil, status, err
	}
	s.alarm(ctx, outbox.AlarmEvent{
		Kind: AlarmTooOld, MessageID: id, Attrs: []slog.Attr{slog.String("policy", string(s.tooOld))},
	})
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
		return nil, status, pgclaim.GiveBack(ctx, conn, err)
	}
	return afterTrylock(ctx, unit)
}
