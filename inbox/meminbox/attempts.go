package meminbox

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/inbox/driver"
)

var _ driver.Parker = claims{}

// Attempt implements driver.Attempter.
func (c claims) Attempt(ctx context.Context, id string, key driver.Key) (driver.Attempt, error) {
	if err := ctx.Err(); err != nil {
		return driver.Attempt{}, err
	}
	s, r := c.store, newRow(c.consumer, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.register(c.consumer)
	if len(s.queue(c.consumer, key)) > 0 {
		return driver.Attempt{KeyParked: true}, nil
	}
	if _, found := s.rows[r]; found { // committed, or in progress
		return driver.Attempt{}, nil
	}
	if s.attempts == nil {
		s.attempts = map[row]*driver.History{}
	}
	h, now := s.attempts[r], time.Now()
	if h == nil {
		h = &driver.History{First: now}
		s.attempts[r] = h
	}
	h.Attempts++
	h.Last = now
	return driver.Attempt{Number: h.Attempts}, nil
}

// Fail implements driver.Attempter.
func (c claims) Fail(_ context.Context, id string, failed driver.AttemptError) (driver.History, error) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	h := c.store.attempts[newRow(c.consumer, id)]
	if h == nil {
		return driver.History{Attempts: 1, Errors: []driver.AttemptError{failed}}, nil
	}
	h.Errors = newest(append(h.Errors, failed))
	known := *h
	known.Errors = slices.Clone(h.Errors)
	return known, nil
}

func newest(errs []driver.AttemptError) []driver.AttemptError {
	return errs[max(0, len(errs)-driver.MaxHistoryErrors):]
}

// Withdraw implements driver.Attempter.
func (c claims) Withdraw(_ context.Context, id string) error {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if h := c.store.attempts[newRow(c.consumer, id)]; h != nil {
		h.Attempts--
	}
	return nil
}

// Settle implements driver.Attempter.
func (c claims) Settle(id string) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	delete(c.store.attempts, newRow(c.consumer, id))
}
