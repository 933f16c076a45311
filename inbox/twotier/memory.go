package twotier

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/leat-go/leat/outbox"
)

// MemoryConfig tunes a Memory. The zero value is a good start.
type MemoryConfig struct {
	// Size is how many messages are remembered, those longest unused forgotten
	// first; each takes about 250 bytes and its id. 1 or more.
	// Defaults to 65,536.
	Size int

	// TTL is how long a message is remembered, 1 ms or more.
	// Defaults to 10 min.
	TTL time.Duration
}

// Memory is a Cache in this process. It is safe for concurrent use and owns no
// goroutines.
type Memory struct {
	cfg MemoryConfig

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

var _ Cache = (*Memory)(nil)

// NewMemory returns an empty Memory. Errors wrap outbox.ErrInvalidConfig.
func NewMemory(cfg MemoryConfig) (*Memory, error) {
	if cfg.Size == 0 {
		cfg.Size = 65_536
	}
	if cfg.TTL == 0 {
		cfg.TTL = 10 * time.Minute
	}
	if cfg.Size < 1 {
		return nil, outbox.ConfigError("Size", cfg.Size, "must be 1 or more")
	}
	if cfg.TTL < time.Millisecond {
		return nil, outbox.ConfigError("TTL", cfg.TTL, "must be 1 ms or more")
	}
	return &Memory{cfg: cfg, byKey: make(map[memoryKey]*list.Element), used: list.New()}, nil
}

// Len returns the number of messages that are remembered, expired ones included
// that nobody has come across yet.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used.Len()
}

// Seen implements Cache. It never fails.
func (m *Memory) Seen(_ context.Context, consumer, id string) (string, error) {
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
func (m *Memory) Remember(_ context.Context, consumer, id, scope string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := memoryKey{consumer, id}
	if e, ok := m.byKey[key]; ok {
		m.remove(e)
	}
	m.byKey[key] = m.used.PushFront(&memoryEntry{key: key, scope: scope, until: time.Now().Add(m.cfg.TTL)})
	for m.used.Len() > m.cfg.Size {
		m.remove(m.used.Back())
	}
	return nil
}

// remove forgets an entry. The caller holds mu.
func (m *Memory) remove(e *list.Element) {
	entry, _ := m.used.Remove(e).(*memoryEntry)
	delete(m.byKey, entry.key)
}
