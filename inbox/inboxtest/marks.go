package inboxtest

import (
	"context"
	"errors"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/fail"
)

// MarkSubject is a Subject whose inboxes note how far consumer groups have come.
type MarkSubject interface {
	Subject

	// Marker returns the Marker of the inboxes, as another process would open it.
	Marker() (driver.Marker, error)
}

// markChecks are about I14: a session moves only marks that are unchanged since it wrote them.
func markChecks() []Check {
	return unless(noMarks,
		Check{Name: "I14_MarksAreKept", run: onMarks(checkMarksAreKept)},
		Check{Name: "I14_OneSessionAtATimeMovesAMark", run: onMarks(checkOneSession)},
		Check{Name: "I14_MarksOfAnotherHistory", run: onMarks(checkOtherHistory)},
	)
}

// marker is a session with a broker.
type marker struct {
	ctx context.Context //nolint:containedctx // of a check
	driver.Marker
}

func onMarks(run func(session func() marker)) func(ctx context.Context, s Subject) {
	return func(ctx context.Context, s Subject) {
		subject, ok := s.(MarkSubject)
		if !ok {
			fail.With("%w: marks", ErrLacks)
		}
		run(func() marker {
			m, err := subject.Marker()
			fail.If(err)
			return marker{ctx, m}
		})
	}
}

// orders is a topic that a group reads.
func orders() driver.GroupTopic {
	return driver.GroupTopic{Group: "group \x01 ä'\"", Topic: "orders", Source: "2b7a4f4e-1a52-4b5e-9d77-0f5a3d1c9e10"}
}

// returns is another topic of that group.
func returns() driver.GroupTopic {
	return driver.GroupTopic{Group: orders().Group, Topic: "returns", Source: madeAgain}
}

func (m marker) read(of driver.GroupTopic) driver.Marks {
	marks, err := m.Marks(m.ctx, of)
	fail.If(err)
	return marks
}

// set moves marks as a session does that has just read them.
func (m marker) set(of driver.GroupTopic, next map[int32]int64) {
	now := m.read(of)
	_, err := m.SetMarks(m.ctx, of, now.History, from(now, next))
	fail.If(err)
}

// from returns marks at next, with the tokens of the marks in seen.
func from(seen driver.Marks, next map[int32]int64) map[int32]driver.Mark {
	marks := map[int32]driver.Mark{}
	for part, n := range next {
		marks[part] = driver.Mark{Next: n, Token: seen.Partitions[part].Token}
	}
	return marks
}

// want fails unless the marks of a topic are at next.
func (m marker) want(of driver.GroupTopic, next map[int32]int64) driver.Marks {
	marks := m.read(of)
	if len(marks.Partitions) != len(next) {
		fail.With("%d partitions have marks, want %d", len(marks.Partitions), len(next))
	}
	for part, n := range next {
		if got := marks.Partitions[part]; got.Next != n || got.Token == "" {
			fail.With("partition %d: mark %+v, want next %d and a token", part, got, n)
		}
	}
	return marks
}

func checkMarksAreKept(session func() marker) {
	m := session()
	if m.want(orders(), nil).Known {
		fail.With("a group that has no marks is known")
	}
	m.set(orders(), map[int32]int64{0: 5, 7: 1 << 40})
	other := session()
	other.want(orders(), map[int32]int64{0: 5, 7: 1 << 40})
	if !other.want(returns(), nil).Known {
		fail.With("a group that has marks of another topic is not known")
	}
	again := orders()
	again.Source = madeAgain
	other.want(again, nil)
	another := orders()
	another.Group = "another"
	if marks := other.read(another); marks.Known || len(marks.Partitions) > 0 {
		fail.With("another group has marks: %+v", marks)
	}
	other.set(orders(), map[int32]int64{0: 3, 1: 0}) // as after an operator has reset the group's offsets
	other.set(returns(), map[int32]int64{0: 9})
	m.want(orders(), map[int32]int64{0: 3, 1: 0, 7: 1 << 40})
}

func checkOneSession(session func() marker) {
	m, other := session(), session()
	before := m.read(orders())
	other.set(orders(), map[int32]int64{0: 5})
	m.wantMoved(before.History, from(before, map[int32]int64{0: 6}))
	seen := m.want(orders(), map[int32]int64{0: 5})
	gone := from(seen, map[int32]int64{0: 6})
	gone[1] = driver.Mark{Next: 4, Token: seen.Partitions[0].Token}
	m.wantMoved(seen.History, gone)
	m.want(orders(), map[int32]int64{0: 5})

	token, err := m.SetMarks(m.ctx, orders(), seen.History, from(seen, map[int32]int64{0: 7, 1: 1}))
	fail.If(err)
	m.wantMoved(seen.History, from(seen, map[int32]int64{0: 8}))
	now := m.want(orders(), map[int32]int64{0: 7, 1: 1})
	if now.Partitions[0].Token != token || token == seen.Partitions[0].Token {
		fail.With("the token was %q, then %q, and %q is read", seen.Partitions[0].Token, token, now.Partitions[0].Token)
	}
	m.set(orders(), map[int32]int64{1: 2})
	m.wantMoved(now.History, from(now, map[int32]int64{0: 9, 1: 9}))
	m.want(orders(), map[int32]int64{0: 7, 1: 2})
}

func checkOtherHistory(session func() marker) {
	m := session()
	m.set(orders(), map[int32]int64{0: 5})
	seen := m.read(orders())
	m.wantMoved(seen.History+"?", from(seen, map[int32]int64{0: 6}))
	m.wantMoved(seen.History+"?", from(seen, map[int32]int64{1: 6}))
	m.want(orders(), map[int32]int64{0: 5})
}

// wantMoved fails unless the marks are refused.
func (m marker) wantMoved(history string, marks map[int32]driver.Mark) {
	if _, err := m.SetMarks(m.ctx, orders(), history, marks); !errors.Is(err, driver.ErrMarksMoved) {
		fail.With("marks that are not as the session left them: error %w, want %w", orNone(err), driver.ErrMarksMoved)
	}
}
