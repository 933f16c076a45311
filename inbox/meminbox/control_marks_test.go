package meminbox

import (
	"context"

	"github.com/leat-go/leat/inbox/driver"
)

// marker notes marks in another way.
type marker struct {
	driver.Marker

	read func(marks driver.Marks) driver.Marks
	set  func(now driver.Marks, history string, marks map[int32]driver.Mark) string
}

func (m marker) Marks(ctx context.Context, of driver.GroupTopic) (driver.Marks, error) {
	marks, err := m.Marker.Marks(ctx, of)
	if m.read != nil {
		marks = m.read(marks)
	}
	return marks, err
}

func (m marker) SetMarks(ctx context.Context, of driver.GroupTopic, history string, marks map[int32]driver.Mark) (string, error) {
	if m.set != nil {
		now, err := m.Marker.Marks(ctx, of)
		if err != nil {
			return "", err
		}
		history = m.set(now, history, marks)
	}
	return m.Marker.SetMarks(ctx, of, history, marks)
}

// brokenMarks are the ways of moving a mark that another session has moved.
func brokenMarks() []negative {
	broken := func(m marker) func(c *control) {
		return func(c *control) {
			c.marker = func(good driver.Marker) driver.Marker {
				m.Marker = good
				return m
			}
		}
	}
	return []negative{
		{"marks are not kept", broken(marker{read: func(m driver.Marks) driver.Marks { m.Partitions = nil; return m }}), map[string]string{
			"I14_MarksAreKept": "0 partitions have marks, want 2",
		}},
		{"every group is known", broken(marker{read: func(m driver.Marks) driver.Marks { m.Known = true; return m }}), map[string]string{
			"I14_MarksAreKept": "a group that has no marks is known",
		}},
		{"a session does not compare", broken(marker{set: func(now driver.Marks, history string, marks map[int32]driver.Mark) string {
			for part, m := range marks {
				m.Token = now.Partitions[part].Token
				marks[part] = m
			}
			return history
		}}), map[string]string{"I14_OneSessionAtATimeMovesAMark": "error none"}},
		{"a history is like another", broken(marker{set: func(now driver.Marks, _ string, _ map[int32]driver.Mark) string {
			return now.History
		}}), map[string]string{"I14_MarksOfAnotherHistory": "error none"}},
	}
}
