package memoutbox

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

var _ driver.Holder = (*session)(nil)

// heldOf returns the records that the relays of a group have set aside. The caller holds ob.mu.
func (ob *Outbox) heldOf(group string) *heldqueue.Memory {
	h := ob.held[group]
	if h == nil {
		h = heldqueue.NewMemory(group, clock, &ob.audit)
		ob.held[group] = h
	}
	return h
}

// clock returns the current time. It is not truncated to PostgreSQL's precision: otherwise a
// relay that waits for a known time would look before the record's time had come.
func clock() time.Time {
	return time.Now().UTC()
}

// held returns the records that the session's group has set aside. The caller holds ob.mu.
func (s *session) held() *heldqueue.Memory {
	return s.ob.heldOf(s.name)
}

func (s *session) share() heldqueue.Share {
	return heldqueue.Share{Slots: s.slots, Slot: s.slot}
}

func (s *session) relay() heldqueue.Relay {
	return heldqueue.Relay{Owner: ownerOf(s.name, s.epoch), Epoch: s.epoch}
}

// ownerOf returns the name of the holder of a lease.
func ownerOf(group string, epoch int64) string {
	return "session " + strconv.FormatInt(epoch, 10) + " of group " + group
}

// HeldKeys implements driver.Holder.
func (s *session) HeldKeys(ctx context.Context) ([]driver.Key, error) {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := s.alive(ctx); err != nil {
		return nil, err
	}
	return heldqueue.Keys(ctx, s.held(), s.share())
}

// CountHeld implements driver.Holder.
func (s *session) CountHeld(ctx context.Context) (int, error) {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := s.alive(ctx); err != nil {
		return 0, err
	}
	return s.held().Count(ctx, s.share())
}

// Hold implements driver.Holder.
func (s *session) Hold(ctx context.Context, p driver.Page, n int, holdings []driver.Holding) error {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := s.alive(ctx); err != nil {
		return err
	}
	if err := heldqueue.CheckHoldings(n, holdings); err != nil {
		return err
	}
	before, err := s.settle(p, n)
	if err != nil {
		return err
	}
	var fresh []driver.Holding
	for _, h := range holdings {
		if h.Index >= before { // otherwise it belongs to an earlier call whose answer was lost
			fresh = append(fresh, h)
		}
	}
	return s.hold(ctx, p, fresh)
}

// hold sets records of a page aside. The caller holds ob.mu.
func (s *session) hold(ctx context.Context, p driver.Page, h []driver.Holding) error {
	return heldqueue.Hold(ctx, s.held(), s.relay(), p.Records, h)
}

// Due implements driver.Holder.
func (s *session) Due(ctx context.Context, limit int, except []string) ([]driver.Held, error) {
	return s.dueWithin(ctx, limit, heldqueue.MaxDueBytes, except)
}

// dueWithin is Due with a bound on bytes.
func (s *session) dueWithin(ctx context.Context, limit, bytes int, except []string) ([]driver.Held, error) {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := s.alive(ctx); err != nil {
		return nil, err
	}
	return heldqueue.Due(ctx, s.held(), heldqueue.Want{Share: s.share(), Except: except, Limit: limit, Bytes: bytes})
}

// Hasten implements driver.Holder.
func (s *session) Hasten(ctx context.Context, within time.Duration) error {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := s.alive(ctx); err != nil {
		return err
	}
	_, err := heldqueue.Hasten(ctx, s.held(), within, math.MaxInt)
	return err
}

// Resolve implements driver.Holder.
func (s *session) Resolve(ctx context.Context, verdicts []driver.Verdict) (free []driver.Key, err error) {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := s.alive(ctx); err != nil {
		return nil, err
	}
	return s.resolve(ctx, verdicts)
}

// resolve stores verdicts. The caller holds ob.mu.
func (s *session) resolve(ctx context.Context, verdicts []driver.Verdict) (free []driver.Key, err error) {
	return heldqueue.Resolve(ctx, s.held(), s.relay(), verdicts)
}
