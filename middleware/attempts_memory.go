package middleware

import (
	"container/list"
	"context"
	"sync"

	"github.com/leat-go/leat/outbox"
)

// MemoryAttempts is an AttemptCounter in memory. It knows the deliveries to this
// process alone, and forgets them when it ends: after a restart, and after a
// rebalance, counting begins anew.
type MemoryAttempts struct {
	capacity int

	mu     sync.Mutex
	counts map[string]*list.Element
	recent list.List // of *attemptCount, the latest first
}

var _ AttemptCounter = (*MemoryAttempts)(nil)

type attemptCount struct {
	id string
	n  int
}

// NewMemoryAttempts returns a counter that remembers the capacity messages that
// were counted last, at least 1. Errors wrap outbox.ErrInvalidConfig.
func NewMemoryAttempts(capacity int) (*MemoryAttempts, error) {
	if capacity < 1 {
		return nil, outbox.ConfigError("capacity", capacity, "must be at least 1")
	}
	return &MemoryAttempts{capacity: capacity, counts: make(map[string]*list.Element)}, nil
}

// Add implements AttemptCounter. It never fails.
func (m *MemoryAttempts) Add(_ context.Context, id string) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.add(id, 1), nil
}

// Sub implements AttemptCounter. It never fails.
func (m *MemoryAttempts) Sub(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.counts[id]; ok && m.add(id, -1) < 1 {
		m.forget(id)
	}
	return nil
}

// Forget implements AttemptCounter. It never fails.
func (m *MemoryAttempts) Forget(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(id)
	return nil
}

// Len returns the number of messages that are remembered.
func (m *MemoryAttempts) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.counts)
}

func (m *MemoryAttempts) add(id string, n int) int {
	e, ok := m.counts[id]
	if !ok {
		e = m.recent.PushFront(&attemptCount{id: id})
		m.counts[id] = e
	}
	m.recent.MoveToFront(e)
	count, _ := e.Value.(*attemptCount)
	count.n += n
	if oldest := m.recent.Back(); len(m.counts) > m.capacity {
		if c, ok := oldest.Value.(*attemptCount); ok {
			m.forget(c.id)
		}
	}
	return count.n
}

func (m *MemoryAttempts) forget(id string) {
	if e, ok := m.counts[id]; ok {
		m.recent.Remove(e)
		delete(m.counts, id)
	}
}
