package twotier

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// memory is a Cache in this process. It is safe for concurrent use and owns no goroutines.
type memory struct {
	size int
	ttl  time.Duration

	mu    sync.Mutex
	byKey map[memoryKey]*list.Element
	used  *list.List // of *memoryEntry, the latest first
}

type memoryKey struct{ consumer, id string }

type memoryEntry struct {
	key   memoryKey
	scope string
	until time.Time
}

var _ Cache = (*memory)(nil)

func newMemory(size int, ttl time.Duration) *memory {
	return &memory{size: size, ttl: ttl, byKey: make(map[memoryKey]*list.Element), used: list.New()}
}

// Seen implements Cache. It never fails.
func (m *memory) Seen(_ context.Context, consumer, id string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.byKey[memoryKey{consumer, id}]
	if !ok {
		return "", nil
	}
	entry, _ := e.Value.(*memoryEntry)
	if !time.Now().Before(entry.until) {
		m.remove(e)
		return "", nil
	}
	m.used.MoveToFront(e)
	return entry.scope, nil
}

// Remember implements Cache. It never fails.
func (m *memory) Remember(_ context.Context, consumer, id, scope string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := memoryKey{consumer, id}
	if e, ok := m.byKey[key]; ok {
		m.remove(e)
	}
	m.byKey[key] = m.used.PushFront(&memoryEntry{key: key, scope: scope, until: time.Now().Add(m.ttl)})
	for m.used.Len() > m.size {
		m.remove(m.used.Back())
	}
	return nil
}

// remove forgets an entry. The caller holds mu.
func (m *memory) remove(e *list.Element) {
	entry, _ := m.used.Remove(e).(*memoryEntry)
	delete(m.byKey, entry.key)
}
