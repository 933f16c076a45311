package history_test

import (
	"slices"

	"github.com/leat-go/leat/internal/history"
)

// defect makes a good story a bad one. Its inject returns whether the story has a place
// for it; where there is none, the story stays good.
type defect struct {
	name string
	// convicts are the checks that must find it, and no other.
	convicts []string
	inject   func(*story) bool
}

// picked is a defect of what is picked. Where there is nothing, the story stays as it is.
func picked(pick func(*story) (history.Line, bool), change func(*story, history.Line)) func(*story) bool {
	return func(s *story) bool {
		l, ok := pick(s)
		if ok {
			change(s, l)
		}
		return ok
	}
}

func defects() []defect {
	return slices.Concat(defectsOfTheOutbox(), defectsOfTheBroker(), defectsOfTheInbox(), defectsOfDerivedEvents(), defectsOfTheBooks())
}

func defectsOfTheOutbox() []defect {
	return []defect{
		{"a committed event is in no topic", []string{history.O2}, picked((*story).pickEffect, func(s *story, l history.Line) {
			s.unpublish(l)
			s.relay = without(s.relay, by(l.ID))
		})},
		{"an acknowledged event is in no topic, though it waits", []string{history.O2}, picked((*story).pickEffect, func(s *story, l history.Line) {
			s.unpublish(l)
			s.kept = append(s.kept, history.Line{Type: history.Waiting, ID: l.ID, Where: history.Pending})
		})},
		{"an event that was rolled back is in a topic", []string{history.O3}, picked((*story).pickRolledBack, func(s *story, l history.Line) {
			s.send(l.ID, orders, l.Key, "")
		})},
		{"an event that was rolled back was sent", []string{history.O3}, picked((*story).pickRolledBack, func(s *story, l history.Line) {
			s.relay = append(s.relay, history.Line{Type: history.Sent, ID: l.ID})
		})},
		{"the outbox keeps what was rolled back", []string{history.O1}, picked((*story).pickRolledBack, func(s *story, l history.Line) {
			s.outbox = append(s.outbox, history.Line{Type: history.Outbox, ID: l.ID})
		})},
		{"an event is of nobody", []string{history.O1}, func(s *story) bool {
			s.send("nobody", orders, account(0), "")
			return true
		}},
		{"a commit that was told of is not in the ledger", []string{history.O1}, picked((*story).pickCommitted, func(s *story, l history.Line) {
			s.unmake(l)
		})},
		{"a rollback that was told of is in the ledger", []string{history.O1}, picked((*story).pickAborted, func(s *story, l history.Line) {
			l.Version = 1 << 40 // the last
			s.commit(l)
		})},
		{"the ledger has what nobody intended", []string{history.O1}, func(s *story) bool {
			s.commit(history.Line{ID: "unintended", Key: account(0), To: account(1), Amount: 1, Version: 1 << 40})
			return true
		}},
	}
}

func defectsOfTheBroker() []defect {
	return []defect{
		{"a record has another content than was meant", []string{history.O4}, func(s *story) bool {
			return s.alter(1, func(l *history.Line) { l.Digest = "other" })
		}},
		{"a copy has another content", []string{history.O4}, func(s *story) bool {
			for i := range s.producer {
				s.producer[i].Digest = ""
			}
			return s.alter(2, func(l *history.Line) { l.Digest = "other" })
		}},
		{"a record has another key", []string{history.O4}, func(s *story) bool {
			return s.alter(0, func(l *history.Line) { l.Key = "other" })
		}},
		{"a record is in another topic", []string{history.O4}, func(s *story) bool {
			s.subscription.Topic = "" // or its effect would be missed
			return s.alter(0, func(l *history.Line) { l.Topic, l.Offset = "other", 0 })
		}},
		{"two events of a key have changed places", []string{history.O5}, func(s *story) bool {
			a, b, ok := s.pair(s.records, func(l history.Line) bool { return l.Topic == orders && s.copies(l.ID) == 1 })
			if ok {
				s.records[a].Offset, s.records[b].Offset = s.records[b].Offset, s.records[a].Offset
			}
			return ok
		}},
		{"two derived events of a key have changed places", []string{history.O5}, func(s *story) bool {
			a, b, ok := s.pair(s.records, func(l history.Line) bool { return l.Topic == applied })
			if ok {
				s.records[a].Offset, s.records[b].Offset = s.records[b].Offset, s.records[a].Offset
			}
			return ok
		}},
		{"a key is in two partitions", []string{history.O5}, func(s *story) bool {
			// The last one: in the partition of the key it would be in order.
			for i := len(s.records) - 1; i >= 0; i-- {
				l := &s.records[i]
				if l.Topic == orders && s.copies(l.ID) == 1 && s.follows(*l) {
					l.Partition, l.Offset = partitions, 0
					return true
				}
			}
			return false
		}},
		{"an event is repeated more often than there were faults", []string{history.O10}, picked((*story).pickEffect, func(s *story, l history.Line) {
			for range len(s.driver) + 1 {
				s.send(l.ID, orders, l.Key, "")
			}
		})},
	}
}

func defectsOfTheInbox() []defect {
	return []defect{
		{"an effect is had twice", []string{history.I1}, picked((*story).pickEffect, func(s *story, l history.Line) {
			s.apply(l, "again-"+l.ID)
		})},
		{"an effect has no message that was committed", []string{history.I2}, picked((*story).pickRolledBack, func(s *story, l history.Line) {
			s.apply(l, "c-"+l.ID)
		})},
		{"a message and its effect were never committed", []string{history.O3, history.I2}, picked((*story).pickRolledBack, func(s *story, l history.Line) {
			s.send(l.ID, orders, l.Key, "")
			s.apply(l, "c-"+l.ID)
		})},
		{"an effect has a message that waits", []string{history.I2}, picked((*story).pickEffect, func(s *story, l history.Line) {
			s.records = without(s.records, by(l.ID))
			s.relay = without(s.relay, by(l.ID))
			s.kept = append(s.kept, history.Line{Type: history.Waiting, ID: l.ID, Where: history.Pending})
		})},
		{"an effect is not what the message says", []string{history.I2}, picked((*story).pickEffect, func(s *story, l history.Line) {
			i := slices.IndexFunc(s.rows, by(l.ID))
			s.move(loyalty, s.rows[i], 1)
			s.rows[i].Amount *= 2
		})},
		{"a message has no effect", []string{history.I3}, picked((*story).pickEffect, func(s *story, l history.Line) {
			s.undo(l)
			s.consumer = without(s.consumer, by(l.ID))
		})},
		{"an effect that was told of is gone", []string{history.I3}, picked((*story).pickEffect, func(s *story, l history.Line) {
			s.undo(l)
			s.subscription.Topic = ""
		})},
		{"two effects of a key have changed places", []string{history.Order}, func(s *story) bool {
			a, b, ok := s.pair(s.rows, func(history.Line) bool { return true })
			if !ok {
				return false
			}
			s.rows[a].Row, s.rows[b].Row = s.rows[b].Row, s.rows[a].Row
			ca := slices.IndexFunc(s.records, by(s.rows[a].Child))
			cb := slices.IndexFunc(s.records, by(s.rows[b].Child))
			s.records[ca].Offset, s.records[cb].Offset = s.records[cb].Offset, s.records[ca].Offset
			return true
		}},
	}
}

func defectsOfDerivedEvents() []defect {
	return []defect{
		{"the event of an effect is in no topic", []string{history.Derived}, picked((*story).pickEffect, func(s *story, l history.Line) {
			s.records = without(s.records, by(l.Child))
		})},
		{"an event of an effect is of none", []string{history.Derived}, picked((*story).pickEffect, func(s *story, l history.Line) {
			s.send("changeling", applied, l.Key, l.ID)
		})},
		{"an event of an effect is of another", []string{history.Derived}, picked((*story).pickEffect, func(s *story, l history.Line) {
			for i := range s.records {
				if s.records[i].ID == l.Child {
					s.records[i].Cause = "other"
				}
			}
		})},
	}
}

func defectsOfTheBooks() []defect {
	return []defect{
		{"the consumer has money of nowhere", []string{history.Conservation}, func(s *story) bool {
			s.books[loyalty][account(0)]++
			return true
		}},
		{"the producer has lost money", []string{history.Conservation}, func(s *story) bool {
			s.books[""][account(0)]--
			return true
		}},
		{"money is with another", []string{history.Conservation}, func(s *story) bool {
			s.books[loyalty][account(0)]++
			s.books[loyalty][account(1)]--
			return true
		}},
	}
}
