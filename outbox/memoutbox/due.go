package memoutbox

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// maxDueBytes is where an answer of Due ends although more is due.
const maxDueBytes = 4 << 20

// Due implements driver.Holder.
func (s *session) Due(ctx context.Context, limit int, except []string) ([]driver.Held, error) {
	return s.dueWithin(ctx, limit, maxDueBytes, except)
}

// dueWithin is Due with a bound on bytes.
func (s *session) dueWithin(ctx context.Context, limit, bytes int, except []string) ([]driver.Held, error) {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := s.alive(ctx); err != nil {
		return nil, err
	}
	now := time.Now()
	out := make(map[string]bool, len(except))
	for _, topic := range except {
		out[topic] = true
	}
	due := make(map[driver.Key]bool)
	var found []driver.Held
	for _, h := range s.asides().held {
		key := keyOf(&h.Record)
		switch {
		case len(found) == limit || bytes <= 0:
			return found, nil
		case !s.reads(&h.Record) || out[h.Topic]:
			continue
		case h.state == retry && !h.next.After(now):
			due[key] = true
		case h.state == wait && due[key]:
		default:
			continue
		}
		found = append(found, driver.Held{Record: h.Record, Attempts: h.attempts})
		bytes -= len(h.Payload) + len(h.Key)
	}
	return found, nil
}

// Resolve implements driver.Holder.
func (s *session) Resolve(ctx context.Context, verdicts []driver.Verdict) (free []driver.Key, err error) {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := s.alive(ctx); err != nil {
		return nil, err
	}
	now := time.Now()
	a := s.asides()
	for _, v := range verdicts {
		h := a.find(v.Record.Seq)
		if h == nil {
			continue // dropped meanwhile
		}
		h.note(v.Attempts)
		a.become(h, v.Fate, now.Add(v.RetryIn), v.Reason)
	}
	for _, v := range verdicts {
		key := keyOf(v.Record)
		a.follow(key, now)
		if key.Key != "" && a.head(key) == nil && !slices.Contains(free, key) {
			free = append(free, key)
		}
	}
	return free, nil
}
