package history_test

import (
	"slices"

	"github.com/leat-go/leat/internal/history"
)

// pick returns one of the lines that match.
func (s *story) pick(lines []history.Line, match func(history.Line) bool) (history.Line, bool) {
	some := without(lines, func(l history.Line) bool { return !match(l) })
	if len(some) == 0 {
		return history.Line{}, false
	}
	return some[s.random.IntN(len(some))], true
}

// pickEffect returns the row of an effect.
func (s *story) pickEffect() (history.Line, bool) {
	return s.pick(s.rows, func(history.Line) bool { return true })
}

// pickCommitted returns an intent whose commit was told of.
func (s *story) pickCommitted() (history.Line, bool) { return s.pickIntent(history.Committed) }

// pickAborted returns an intent whose rollback was told of.
func (s *story) pickAborted() (history.Line, bool) { return s.pickIntent(history.Aborted) }

// pickIntent returns an intent with the outcome that was told.
func (s *story) pickIntent(outcome history.Type) (history.Line, bool) {
	return s.pick(s.producer, func(l history.Line) bool {
		return l.Type == history.Intent && slices.ContainsFunc(s.producer, func(o history.Line) bool {
			return o.ID == l.ID && o.Type == outcome
		})
	})
}

// pickRolledBack returns an intent that is not in the ledger.
func (s *story) pickRolledBack() (history.Line, bool) {
	return s.pick(s.producer, func(l history.Line) bool {
		return l.Type == history.Intent && !slices.ContainsFunc(s.ledger, by(l.ID))
	})
}

// pair returns the places of two neighbours of one key among the lines that match.
func (s *story) pair(lines []history.Line, match func(history.Line) bool) (a, b int, ok bool) {
	last := map[string]int{}
	for i, l := range lines {
		if !match(l) {
			continue
		}
		if a, ok := last[l.Key]; ok {
			return a, i, true
		}
		last[l.Key] = i
	}
	return 0, 0, false
}

func (s *story) copies(id string) int {
	return len(s.records) - len(without(s.records, by(id)))
}

// alter changes the last record of an event that has so many copies, or any number
// where that is 0.
func (s *story) alter(copies int, change func(*history.Line)) bool {
	l, ok := s.pick(s.records, func(l history.Line) bool {
		return l.Topic == orders && (copies == 0 || s.copies(l.ID) == copies)
	})
	for i := len(s.records) - 1; i >= 0 && ok; i-- {
		if s.records[i].ID == l.ID {
			change(&s.records[i])
			break
		}
	}
	return ok
}

// follows reports whether the key has another event before this record.
func (s *story) follows(l history.Line) bool {
	return slices.ContainsFunc(s.records, func(r history.Line) bool {
		return r.Topic == l.Topic && r.Key == l.Key && r.ID != l.ID && r.Offset < l.Offset
	})
}

// undo takes the effect back, as if it had never been.
func (s *story) undo(l history.Line) {
	for _, row := range s.rows {
		if row.ID == l.ID {
			s.move(loyalty, row, -1)
			s.records = without(s.records, by(row.Child))
			s.relay = without(s.relay, by(row.Child))
		}
	}
	s.rows = without(s.rows, by(l.ID))
}

// unpublish takes effect and records back.
func (s *story) unpublish(l history.Line) {
	s.undo(l)
	s.consumer = without(s.consumer, by(l.ID))
	s.records = without(s.records, by(l.ID))
}

// unmake takes all of an event back but what was told of it.
func (s *story) unmake(l history.Line) {
	s.unpublish(l)
	for _, row := range s.ledger {
		if row.ID == l.ID {
			s.move("", row, -1)
		}
	}
	s.ledger = without(s.ledger, by(l.ID))
	s.outbox = without(s.outbox, by(l.ID))
	s.relay = without(s.relay, by(l.ID))
	s.kept = without(s.kept, by(l.ID))
}
