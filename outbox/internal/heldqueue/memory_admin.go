package heldqueue

import (
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

// Stats counts what the group has set aside.
func (m *Memory) Stats() admin.GroupStats {
	s := admin.GroupStats{Name: m.group}
	for _, k := range m.all {
		switch k.State {
		case Dead:
			s.Dead++
			continue
		case Retry:
			s.Retrying++
			s.OldestRetried = max(s.OldestRetried, time.Since(k.record.CreatedAt))
		case Parked:
			s.Parked++
		case Wait:
			s.OldestWaiting = max(s.OldestWaiting, time.Since(k.record.CreatedAt))
		}
		s.Held++
	}
	return s
}

// Retrying counts the records of a topic that are being tried again, up to a thousand.
func (m *Memory) Retrying(topic string) (n int) {
	for _, k := range m.all {
		if k.State == Retry && k.record.Topic == topic && n < 1000 {
			n++
		}
	}
	return n
}

// Clear deletes all rows except those of dead records, and returns their number.
func (m *Memory) Clear() int {
	var dead []*kept
	n := 0
	for _, k := range m.all {
		if k.State != Dead {
			n++
			continue
		}
		dead = append(dead, k)
	}
	m.all = nil
	clear(m.lines)
	for _, k := range dead {
		m.all = insert(m.all, k)
		if k.ordered() {
			m.lines[k.Key] = insert(m.lines[k.Key], k)
		}
	}
	return n
}
