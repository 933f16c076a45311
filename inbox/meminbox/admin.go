package meminbox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/leat-go/leat/inbox/admin"
)

// operators is the admin.Inbox that NewAdmin returns.
type operators struct {
	store *Store
}

var (
	_ admin.Inbox   = (*operators)(nil)
	_ admin.Auditor = (*operators)(nil)
)

// NewAdmin returns the operators' interface to all consumers of store and their parked messages.
// It is also an admin.Auditor.
func NewAdmin(store *Store) admin.Inbox {
	return &operators{store: store}
}

// look runs use under the store's lock, if consumer is empty or known.
func (a *operators) look(ctx context.Context, consumer string, use func(s *Store) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	if _, known := a.store.consumers[consumer]; consumer != "" && !known {
		return fmt.Errorf("%w: %q", admin.ErrUnknownConsumer, consumer)
	}
	return use(a.store)
}

// page returns the first limit of all.
func page[T any](all []T, limit int) []T {
	return all[:min(len(all), limit)]
}

// Stats implements admin.Inbox.
func (a *operators) Stats(ctx context.Context) (st admin.Stats, err error) {
	err = a.look(ctx, "", func(s *Store) error {
		st = admin.Stats{At: time.Now(), Consumers: int64(len(s.consumers))}
		for name := range s.consumers {
			c := s.consumer(name)
			st.Parked += c.Parked
			st.Redriving += c.Redriving
			st.Waiting += c.Waiting
			st.Failing += c.Failing
		}
		for _, p := range slices.Backward(s.parked) {
			if p.state() == admin.StateParked {
				st.OldestParked = p.at
			}
		}
		return nil
	})
	return st, err
}

// Consumers implements admin.Inbox.
func (a *operators) Consumers(ctx context.Context, q admin.ConsumersQuery) (all []admin.Consumer, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	err = a.look(ctx, "", func(s *Store) error {
		for _, name := range slices.Sorted(maps.Keys(s.consumers)) {
			if name > q.After && len(all) < q.Limit {
				all = append(all, s.consumer(name))
			}
		}
		return nil
	})
	return all, err
}

// consumer returns the figures of a consumer. The caller holds the lock.
func (s *Store) consumer(name string) admin.Consumer {
	c := admin.Consumer{Name: name, Since: s.consumers[name]}
	for r, known := range s.rows {
		if r.consumer == name && known.committed {
			c.Remembered++
			c.LastActivity = later(c.LastActivity, known.at)
		}
	}
	for r, h := range s.attempts {
		if r.consumer != name {
			continue
		}
		c.LastActivity = later(c.LastActivity, h.Last)
		if failed(*h) && !s.rows[r].committed {
			c.Failing++
		}
	}
	for _, p := range s.parked {
		if p.consumer != name {
			continue
		}
		c.LastActivity = later(c.LastActivity, p.at)
		switch p.state() {
		case admin.StateParked:
			c.Parked++
		case admin.StateRedrive:
			c.Redriving++
		case admin.StateWait:
			c.Waiting++
		}
	}
	return c
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
