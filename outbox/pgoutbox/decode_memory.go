package pgoutbox

import (
	"sync"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
)

// memory is what the records of a page are in that shares with no other one: their slice and the slabs of
// their payloads. Texts are not part of it, since whoever has seen a record may keep those.
type memory struct {
	records []outbox.Record
	slabs   [][]byte
}

// stock is the memory of pages that were given back, for full pages to come. It is safe for
// concurrent use: one goroutine reads pages, another gives them back.
type stock struct {
	mu   sync.Mutex
	free []memory
}

// A relay has three pages in hand, unless it is told otherwise: one is read, one waits, one is sent.
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

// drop lets go of all: a relay without a backlog needs little.
func (s *stock) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = nil
}

// poison has a program that arms failure points, as those of tests do, notice who looks at a page that
// was given back.
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
