package memoutbox

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

var _ driver.Holder = (*session)(nil)

// HeldKeys implements driver.Holder.
func (s *session) HeldKeys(ctx context.Context) ([]driver.Key, error) {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := s.alive(ctx); err != nil {
		return nil, err
	}
	var keys []driver.Key
	seen := make(map[driver.Key]bool)
	for _, h := range s.asides().held {
		if key := keyOf(&h.Record); key.Key != "" && !seen[key] && s.reads(&h.Record) {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// CountHeld implements driver.Holder.
func (s *session) CountHeld(ctx context.Context) (int, error) {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := s.alive(ctx); err != nil {
		return 0, err
	}
	n := 0
	for _, h := range s.asides().held {
		if s.reads(&h.Record) {
			n++
		}
	}
	return n, nil
}

// Hold implements driver.Holder.
func (s *session) Hold(ctx context.Context, p driver.Page, n int, holdings []driver.Holding) error {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := s.alive(ctx); err != nil {
		return err
	}
	for i, h := range holdings {
		if h.Index < 0 || h.Index >= n || h.Fate == driver.FateDelivered || i > 0 && h.Index <= holdings[i-1].Index {
			return fmt.Errorf("leat: hold: record %d of the first %d as %s", h.Index, n, h.Fate)
		}
	}
	before, err := s.settle(p, n)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, h := range holdings {
		if h.Index >= before { // else it is an earlier call's, whose answer was lost
			s.hold(p, h, now)
		}
	}
	return nil
}

// hold sets one record aside. The caller holds ob.mu.
func (s *session) hold(p driver.Page, h driver.Holding, now time.Time) {
	a := s.asides()
	r := &held{Record: p.Records[h.Index]}
	r.Message = clone(&r.Message)
	r.note(h.Attempts)
	fate, next := h.Fate, now.Add(h.RetryIn)
	switch first := a.head(keyOf(&r.Record)); {
	case first == nil && fate == driver.FateWait:
		fate, next = driver.FateRetry, now // an operator has dropped what it was to follow
	case first != nil && (fate == driver.FateRetry || fate == driver.FatePark):
		fate = driver.FateWait
	}
	a.add(r)
	a.become(r, fate, next, h.Reason)
}

// asides returns those of the group. The caller holds ob.mu.
func (s *session) asides() *asides {
	return s.ob.asides(s.name)
}
