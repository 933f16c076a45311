package outboxtest

import (
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox"
)

// span is when a transaction of a storm was committed: between two times.
type span struct {
	key      string
	from, to time.Time
}

// inCommitOrder checks of what was read, or published, in that order: if a transaction had
// committed before another one of the same key was asked to, its record comes first.
func (s *storm) inCommitOrder(got []outbox.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	later := make(map[string]span) // of each key, that of the records so far which was begun last
	seen := make(map[string]bool)
	for i := range got {
		name := string(got[i].Payload)
		is, ok := s.spans[name]
		if !ok || seen[name] {
			continue
		}
		seen[name] = true
		if before, ok := later[is.key]; ok && is.to.Before(before.from) {
			return fmt.Errorf("key %q: %.40q comes behind a record whose commit was begun %s after its own had ended", is.key, name, before.from.Sub(is.to))
		}
		if is.from.After(later[is.key].from) {
			later[is.key] = is
		}
	}
	return nil
}

// noteSpan notes that the transaction of names has committed since from.
func (s *storm) noteSpan(key string, names []string, from time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		s.spans[name] = span{key: key, from: from, to: time.Now()}
	}
}
