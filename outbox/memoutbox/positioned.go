package memoutbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/leat-go/leat/outbox/driver"
)

var _ driver.Positioned = (*session)(nil)

// errPosition is wrapped by errors about a position that a sink has kept.
var errPosition = errors.New("leat: position of the sink")

// keptPosition is a position in the form in which a sink keeps it.
type keptPosition struct {
	Format int `json:"format"`
	From   int `json:"from"`
	To     int `json:"to"`
	Done   int `json:"done"`
}

const positionFormat = 1

// SlotName implements driver.Positioned.
func (s *session) SlotName() string {
	return s.name + "/" + strconv.Itoa(s.slot)
}

// Position implements driver.Positioned.
func (s *session) Position(p driver.Page, n int) ([]byte, error) {
	if p.Cursor == nil && n == 0 {
		s.ob.mu.Lock()
		defer s.ob.mu.Unlock()
		return s.pos.kept()
	}
	c, ok := p.Cursor.(cursor)
	if !ok || n < 0 || n > len(p.Records) {
		return nil, fmt.Errorf("%w: %d of a page of %d records with a cursor %T", errPosition, n, len(p.Records), p.Cursor)
	}
	return position{from: c.from, to: c.to, done: c.first + n}.kept()
}

func (p position) kept() ([]byte, error) {
	return json.Marshal(keptPosition{Format: positionFormat, From: p.from, To: p.to, Done: p.done})
}

// Seek implements driver.Positioned.
func (s *session) Seek(ctx context.Context, kept []byte) error {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := s.alive(ctx); err != nil {
		return err
	}
	if kept == nil {
		if n := s.settled(s.pos); n > 0 {
			return unusable("is missing, although %d records are settled", n)
		}
		return nil
	}
	p, err := s.parse(kept)
	if err != nil {
		return err
	}
	ahead := s.settled(p) - s.settled(s.pos)
	switch {
	case ahead < 0:
		return unusable("at %+v is %d records behind the stored %+v", p, -ahead, s.pos)
	case ahead == 0 && p.from <= s.pos.from:
		return nil // another window was opened, and nothing of it delivered
	}
	s.pos, s.group.pos = p, p
	s.window = s.part(s.ob.window(p))
	s.read = p.done
	return nil
}

// settled counts the slot's records that are settled at p. The caller holds ob.mu.
func (s *session) settled(p position) int {
	return len(s.part(s.ob.window(position{to: p.from}))) + p.done
}

// parse reads a position. The caller holds ob.mu.
func (s *session) parse(kept []byte) (position, error) {
	var k keptPosition
	if err := json.Unmarshal(kept, &k); err != nil {
		return position{}, unusable("cannot be read: %v", err)
	}
	p := position{from: k.From, to: k.To, done: k.Done}
	if k.Format != positionFormat || p.from < 0 || p.to < p.from || p.to > len(s.ob.log) ||
		p.done < 0 || p.done > len(s.part(s.ob.window(p))) {
		return position{}, unusable("%+v is not of this outbox", k)
	}
	return p, nil
}

func unusable(format string, args ...any) error {
	return fmt.Errorf("%w: %w %s", driver.ErrSourceUnusable, errPosition, fmt.Sprintf(format, args...))
}
