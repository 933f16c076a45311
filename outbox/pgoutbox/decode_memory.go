package pgoutbox

import (
	"sync"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
)

// memory is the memory of a page's records that no other page shares: their slice and the slabs
// of their payloads. It does not include texts, which a hook or a sink may keep.
type memory struct {
	records []outbox.Record
	slabs   [][]byte
}

// stock is the memory of pages that were returned, for later full pages. It is safe for concurrent use: one
// goroutine reads pages, another returns them.
type stock struct {
	mu   sync.Mutex
	free []memory
}

// A relay has three pages at a time by default: one is read, one waits, one is sent.
const (
	mostFree      = 2
	mostFreeSlabs = 4 << 20 / slabBytes // of a page
)

// take returns memory for a page, or none.
func (s *stock) take() (m memory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		m, s.free = s.free[n-1], s.free[:n-1]
	}
	return m
}

// put gives m back.
func (s *stock) put(m memory) {
	clear(m.records)
	poison(m)
	if len(m.slabs) > mostFreeSlabs {
		m.slabs = m.slabs[:mostFreeSlabs]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) < mostFree {
		s.free = append(s.free, m)
	}
}

// drop releases everything: a relay without a backlog needs little.
func (s *stock) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = nil
}

// poison overwrites the memory of a page that was returned, in programs that arm failure points, such as
// tests, so that later reads of it are noticed.
func poison(m memory) {
	if !failpoint.Installed() {
		return
	}
	for i := range m.records {
		m.records[i].Topic, m.records[i].Key, m.records[i].ID = "freed", "freed", "freed"
	}
	for _, slab := range m.slabs {
		slab = slab[:cap(slab)]
		for i := range slab {
			slab[i] = 0xdb
		}
	}
}
