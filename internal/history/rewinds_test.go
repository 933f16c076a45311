package history_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/history"
)

// told returns the line that says how the transaction of the event has ended.
func (s *story) told(t *testing.T, id string) history.Line {
	t.Helper()
	for _, l := range s.producer {
		if l.ID == id && l.Type != history.Intent {
			return l
		}
	}
	t.Fatalf("nobody was told of %s", id)
	return history.Line{}
}

// rewind records that the database of a consumer, or of the producer, went back.
func (s *story) rewind(from, until int64, consumer string) {
	s.driver = append(s.driver, history.Line{Type: history.Rewound, At: from, Until: until, Consumer: consumer})
}

// forget takes the commit of an event back that is in its topic and has had its effect.
func (s *story) forget(l history.Line) {
	for _, row := range s.ledger {
		if row.ID == l.ID {
			s.move("", row, -1)
		}
	}
	s.ledger = without(s.ledger, by(l.ID))
	s.outbox = without(s.outbox, by(l.ID))
}

// pickTold returns an effect whose producer was told of the commit.
func (s *story) pickTold(t *testing.T) history.Line {
	t.Helper()
	l, ok := s.pick(s.rows, func(row history.Line) bool {
		for _, p := range s.producer {
			if p.ID == row.ID && p.Type == history.Committed {
				return true
			}
		}
		return false
	})
	require.True(t, ok)
	for _, p := range s.producer {
		if p.ID == l.ID && p.Type == history.Intent {
			l.At = p.At
		}
	}
	return l
}

// TestACommitThatTheDatabaseHasForgotten is excused if it came in the time that was lost,
// and only then.
func TestACommitThatTheDatabaseHasForgotten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// rewind is told the time of the intent, and of the outcome.
		rewind func(s *story, l history.Line, intended, told int64)
		want   []string
	}{
		{"is excused", func(s *story, _ history.Line, intended, told int64) { s.rewind(intended-1, told+1, "") }, nil},
		{"is excused if it began before and ended within", func(s *story, _ history.Line, _, told int64) {
			s.rewind(told, told, "")
		}, nil},
		{"is lost if no database went back", func(*story, history.Line, int64, int64) {}, []string{history.O1, history.O3, history.I2}},
		{"is lost if it was told before the time that was lost", func(s *story, _ history.Line, _, told int64) {
			s.rewind(told+1, told+2, "")
		}, []string{history.O1, history.O3, history.I2}},
		{"is lost if it was intended after the time that was lost", func(s *story, _ history.Line, intended, _ int64) {
			s.rewind(intended-2, intended-1, "")
		}, []string{history.O1, history.O3, history.I2}},
		{"is lost if it was another's database", func(s *story, _ history.Line, intended, told int64) {
			s.rewind(intended-1, told+1, loyalty)
		}, []string{history.O1, history.O3, history.I2}},
		{"is not excused in the outbox", func(s *story, l history.Line, intended, told int64) {
			s.rewind(intended-1, told+1, "")
			s.outbox = append(s.outbox, history.Line{Type: history.Outbox, ID: l.ID})
		}, []string{history.O1}},
		{"has its effect, since it is in the topic", func(s *story, l history.Line, intended, told int64) {
			s.rewind(intended-1, told+1, "")
			s.undo(l)
			s.consumer = without(s.consumer, by(l.ID))
		}, []string{history.I3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := tell(1, events)
			l := s.pickTold(t)
			s.forget(l)
			c.rewind(s, l, l.At, s.told(t, l.ID).At)
			v := s.check(t, t.TempDir())
			require.Equal(t, c.want, v.Violated())
			if c.want == nil {
				require.Equal(t, 1, v.Figures.Forgotten)
			}
		})
	}
}

// TestARewindExcusesNoOther event: what the surviving database knows is not to be lost,
// and what was rolled back is not to be sent.
func TestARewindExcusesNoOther(t *testing.T) {
	t.Parallel()
	for _, d := range defects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			s := tell(1, events)
			last := s.producer[len(s.producer)-1].At
			s.rewind(last+1, last+2, "")
			require.True(t, d.inject(s))
			require.Equal(t, d.convicts, s.check(t, t.TempDir()).Violated())
		})
	}
	s := tell(1, events)
	l, ok := s.pickAborted()
	require.True(t, ok)
	s.send(l.ID, orders, l.Key, "")
	s.rewind(1, s.clock+1, "")
	require.Equal(t, []string{history.O3}, s.check(t, t.TempDir()).Violated(), "it was rolled back")
}

// TestARewindIsAFaultOfItsOwn: one more copy is forgiven, however many databases went back.
func TestARewindIsAFaultOfItsOwn(t *testing.T) {
	t.Parallel()
	for more, want := range map[int][]string{1: nil, 2: {history.O10}} {
		s := tell(1, events)
		l, ok := s.pickEffect()
		require.True(t, ok)
		faults := len(s.driver)
		s.rewind(1, 2, "")
		s.rewind(1, 2, loyalty)
		s.driver[faults].Until, s.driver[faults+1].Until = s.clock+1, s.clock+1
		for range faults + more {
			s.send(l.ID, orders, l.Key, "")
		}
		require.Equal(t, want, s.check(t, t.TempDir()).Violated())
	}
}

// TestAnEffectThatTheDatabaseHasForgotten must be had again by a consumer whose inbox went
// back with it. One whose effects are outside of what remembers its messages can't.
func TestAnEffectThatTheDatabaseHasForgotten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(s *story, row history.Line, told int64)
		want   []string
	}{
		{"is had again", func(s *story, row history.Line, told int64) {
			s.rewind(told, told, loyalty)
			s.apply(row, row.Child)
		}, nil},
		{"is lost if it is not had again", func(s *story, _ history.Line, told int64) {
			s.rewind(told, told, loyalty)
		}, []string{history.I3}},
		{"is lost outside", func(s *story, _ history.Line, told int64) {
			s.rewind(told, told, loyalty)
			s.subscription.AtLeastOnce = true
		}, nil},
		{"is not lost outside before the time that was lost", func(s *story, _ history.Line, told int64) {
			s.rewind(told+1, told+2, loyalty)
			s.subscription.AtLeastOnce = true
		}, []string{history.I3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := tell(1, events)
			last := s.rows[len(s.rows)-1] // so that the order stays
			told, ok := s.pick(s.consumer, func(l history.Line) bool { return l.ID == last.ID && l.Type == history.Effect })
			require.True(t, ok)
			s.undo(last)
			c.change(s, last, told.At)
			require.Equal(t, c.want, s.check(t, t.TempDir()).Violated())
		})
	}
}
