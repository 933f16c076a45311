package meminbox

import (
	"context"
	"time"

	"github.com/leat-go/leat/inbox/driver"
)

var _ driver.BatchAttempter = claims{}

// AttemptBatch implements driver.BatchAttempter.
func (c claims) AttemptBatch(ctx context.Context, items []driver.BatchItem) ([]bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := c.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attempts == nil {
		s.attempts = map[row]*driver.History{}
	}
	s.register(c.consumer)
	alone := make([]bool, len(items))
	for i, item := range items {
		r := newRow(c.consumer, item.ID)
		switch {
		case len(s.queue(c.consumer, item.Key)) > 0, s.attempts[r] != nil && !s.rows[r].committed:
			alone[i] = true
		case !s.rows[r].committed:
			now := time.Now()
			s.attempts[r] = &driver.History{First: now, Last: now}
		}
	}
	return alone, nil
}
