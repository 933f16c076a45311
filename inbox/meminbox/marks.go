package meminbox

import (
	"context"
	"crypto/rand"
	"maps"

	"github.com/leat-go/leat/inbox/driver"
)

var (
	_ driver.Marker = (*Inbox)(nil)
	_ driver.Marker = (*Store)(nil)
)

// Marks implements driver.Marker, for kafkasource.Config.
func (in *Inbox) Marks(ctx context.Context, of driver.GroupTopic) (driver.Marks, error) {
	return in.cfg.Store.Marks(ctx, of)
}

// SetMarks implements driver.Marker.
func (in *Inbox) SetMarks(ctx context.Context, of driver.GroupTopic, history string, marks map[int32]driver.Mark) (token string, err error) {
	return in.cfg.Store.SetMarks(ctx, of, history, marks)
}

// Marks implements driver.Marker.
func (s *Store) Marks(ctx context.Context, of driver.GroupTopic) (driver.Marks, error) {
	if err := ctx.Err(); err != nil {
		return driver.Marks{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	marks := driver.Marks{Partitions: map[int32]driver.Mark{}}
	maps.Copy(marks.Partitions, s.marks[of])
	for other := range s.marks {
		marks.Known = marks.Known || other.Group == of.Group
	}
	return marks, nil
}

// SetMarks implements driver.Marker.
func (s *Store) SetMarks(ctx context.Context, of driver.GroupTopic, history string, marks map[int32]driver.Mark) (token string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for part, m := range marks {
		if history != "" || m.Token != s.marks[of][part].Token {
			return "", driver.ErrMarksMoved
		}
	}
	if s.marks == nil {
		s.marks = map[driver.GroupTopic]map[int32]driver.Mark{}
	}
	if s.marks[of] == nil {
		s.marks[of] = map[int32]driver.Mark{}
	}
	token = rand.Text()
	for part, m := range marks {
		m.Token = token
		s.marks[of][part] = m
	}
	return token, nil
}
