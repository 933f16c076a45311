package meminbox

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/inbox"
)

var _ inbox.Parker = claims{}

// Attempt implements inbox.Attempter.
func (c claims) Attempt(ctx context.Context, id string, key inbox.Key) (inbox.Attempt, error) {
	if err := ctx.Err(); err != nil {
		return inbox.Attempt{}, err
	}
	s, r := c.store, newRow(c.consumer, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue(c.consumer, key)) > 0 {
		return inbox.Attempt{KeyParked: true}, nil
	}
	if _, found := s.rows[r]; found { // committed, or in progress
		return inbox.Attempt{}, nil
	}
	if s.attempts == nil {
		s.attempts = map[row]*inbox.History{}
	}
	h, now := s.attempts[r], time.Now()
	if h == nil {
		h = &inbox.History{First: now}
		s.attempts[r] = h
	}
	h.Attempts++
	h.Last = now
	return inbox.Attempt{Number: h.Attempts}, nil
}

// Fail implements inbox.Attempter.
func (c claims) Fail(_ context.Context, id string, failed inbox.AttemptError) (inbox.History, error) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	h := c.store.attempts[newRow(c.consumer, id)]
	if h == nil {
		return inbox.History{Attempts: 1, Errors: []inbox.AttemptError{failed}}, nil
	}
	h.Errors = newest(append(h.Errors, failed))
	known := *h
	known.Errors = slices.Clone(h.Errors)
	return known, nil
}

func newest(errs []inbox.AttemptError) []inbox.AttemptError {
	return errs[max(0, len(errs)-inbox.MaxHistoryErrors):]
}

// Withdraw implements inbox.Attempter.
func (c claims) Withdraw(_ context.Context, id string) error {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if h := c.store.attempts[newRow(c.consumer, id)]; h != nil {
		h.Attempts--
	}
	return nil
}

// Settle implements inbox.Attempter.
func (c claims) Settle(id string) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	delete(c.store.attempts, newRow(c.consumer, id))
}
