package pglog

import (
	"context"
	"errors"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgheld"
)

var _ driver.Holder = (*Session)(nil)

// share is the slot's part of the held records.
func (s *Session) share() pgheld.Share {
	return pgheld.Share{Slots: int16(s.progress.groupSlots()), Slot: s.cfg.Lease.Slot.No} //nolint:gosec // at most 64
}

// explain describes what an error of the database means.
func (s *Session) explain(err error) error {
	return s.cfg.Unusable(s.cfg.Describe(err))
}

// HeldKeys implements driver.Holder.
func (s *Session) HeldKeys(ctx context.Context) ([]driver.Key, error) {
	conn, giveBack := s.lendAny()
	defer giveBack()
	keys, err := s.cfg.Held.Keys(ctx, conn, s.cfg.Lease.Slot.Group, s.share())
	return keys, s.explain(err)
}

// CountHeld implements driver.Holder.
func (s *Session) CountHeld(ctx context.Context) (int, error) {
	conn, giveBack := s.lendAny()
	defer giveBack()
	count, err := s.cfg.Held.Count(ctx, conn, s.cfg.Lease.Slot.Group, s.share())
	return count, s.explain(err)
}

// errEarlyHold is a mistake of the caller, who must withdraw the page.
var errEarlyHold = errors.New("leat: the records of an early page cannot be held")

// Hold implements driver.Holder. It counts records as settled only once they are stored: a
// position that was stored without its held records would lose them.
func (s *Session) Hold(ctx context.Context, p driver.Page, settled int, h []driver.Holding) error {
	if p.Early {
		return errEarlyHold
	}
	at, last, err := endOf(p, settled)
	if err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.progress.isSettled(at, last) {
		return nil
	}
	to := s.cfg.Windows.Move(s.cfg.Lease, at.window, last)
	if err := s.cfg.Held.Hold(ctx, s.writer, s.cfg.Lease, to, p.Records[:settled], h); err != nil {
		return s.explain(err)
	}
	s.progress.settle(at, last)
	s.progress.store(at.window, last)
	return nil
}

// Due implements driver.Holder.
func (s *Session) Due(ctx context.Context, limit int, except []string) ([]driver.Held, error) {
	if limit < 1 {
		return nil, outbox.ConfigError("limit", limit, "must be positive")
	}
	conn, giveBack := s.lendAny()
	defer giveBack()
	due, err := s.cfg.Held.Due(ctx, conn, s.cfg.Lease.Slot.Group, s.share(), limit, except)
	return due, s.explain(err)
}

// Hasten implements driver.Holder.
func (s *Session) Hasten(ctx context.Context, within time.Duration) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.explain(s.cfg.Held.Hasten(ctx, s.writer, s.cfg.Lease.Slot.Group, s.share(), within))
}

// Resolve implements driver.Holder.
func (s *Session) Resolve(ctx context.Context, v []driver.Verdict) ([]driver.Key, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	free, err := s.cfg.Held.Resolve(ctx, s.writer, s.cfg.Lease, v)
	return free, s.explain(err)
}
