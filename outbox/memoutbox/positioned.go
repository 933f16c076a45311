package memoutbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var _ driver.Positioned = (*session)(nil)

// errPosition is wrapped by errors about a position that a sink has stored.
var errPosition = errors.New("leat: position of the sink")

// keptPosition is a position in the form in which a sink stores it. All of log[:From] is settled,
// and in log[From:To] the records with a Seq up to Last.
type keptPosition struct {
	Format int      `json:"format"`
	Outbox string   `json:"outbox"`
	Slot   string   `json:"slot"`
	Slots  int      `json:"slots"`
	Topics []string `json:"topics,omitempty"`
	From   int      `json:"from"`
	To     int      `json:"to"`
	Last   int64    `json:"last"`
}

const positionFormat = 1

// SlotName implements driver.Positioned.
func (s *session) SlotName() string {
	return s.name + "/" + strconv.Itoa(s.slot)
}

// Position implements driver.Positioned.
func (s *session) Position(p driver.Page, n int) ([]byte, error) {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if p.Cursor == nil && n == 0 {
		return json.Marshal(s.kept(s.pos))
	}
	c, ok := p.Cursor.(cursor)
	if !ok || n < 0 || n > len(p.Records) {
		return nil, fmt.Errorf("%w: %d of a page of %d records with a cursor %T", errPosition, n, len(p.Records), p.Cursor)
	}
	return json.Marshal(s.kept(position{from: c.from, to: c.to, done: c.first + n}))
}

// kept returns p in the form in which a sink stores it. The caller holds ob.mu.
func (s *session) kept(p position) keptPosition {
	return keptPosition{
		Format: positionFormat, Outbox: s.ob.id, Slot: s.SlotName(), Slots: s.slots, Topics: s.topics,
		From: p.from, To: p.to, Last: s.lastOf(p),
	}
}

// lastOf returns the Seq of the last record of the window that is settled at p, 0 if there is
// none. The caller holds ob.mu.
func (s *session) lastOf(p position) int64 {
	if p.done == 0 {
		return 0
	}
	return s.part(s.ob.window(p))[p.done-1].Seq
}

// countTo counts the records of the window of p up to last. The caller holds ob.mu.
func (s *session) countTo(p position, last int64) int {
	n := 0
	for _, r := range s.part(s.ob.window(p)) {
		if r.Seq <= last {
			n++
		}
	}
	return n
}

// Seek implements driver.Positioned.
func (s *session) Seek(ctx context.Context, kept []byte) error {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := s.alive(ctx); err != nil {
		return err
	}
	if kept == nil {
		if n := len(s.part(s.ob.window(position{from: s.sharing.begin, to: s.pos.from}))) + s.pos.done; n > 0 {
			return unusable(basis.Refuse(basis.ErrSinkWentBack, fmt.Sprintf("it has none of %s, of which %d records are settled", s.SlotName(), n)))
		}
		return nil
	}
	k, err := s.parse(kept)
	if err != nil {
		return err
	}
	behind, ahead := s.compare(k)
	switch {
	case behind > 0:
		return unusable(basis.Refuse(basis.ErrSinkWentBack, fmt.Sprintf("%+v is %d records behind the stored %+v", k, behind, s.pos)))
	case ahead == 0:
		return nil // another window was opened, and none of it delivered
	}
	s.pos = position{from: k.From, to: k.To}
	s.pos.done = s.countTo(s.pos, k.Last)
	s.group.pos = s.pos
	s.window = s.part(s.ob.window(s.pos))
	s.read = s.pos.done
	return nil
}

// compare counts the slot's records that are settled at the stored position and not at k, and the
// other way round. It only counts records that belonged to the slot when k was made. The caller
// holds ob.mu.
func (s *session) compare(k keptPosition) (behind, ahead int) {
	stored, former := s.kept(s.pos), &session{slot: s.slot, slots: k.Slots}
	for i := range s.ob.log[:max(k.To, stored.To)] {
		r := &s.ob.log[i]
		if !s.reads(r) || !former.reads(r) || !topics.MatchAny(s.topics, r.Topic) || !topics.MatchAny(k.Topics, r.Topic) {
			continue
		}
		switch there, here := k.settled(i, r), stored.settled(i, r); {
		case here && !there:
			behind++
		case there && !here:
			ahead++
		}
	}
	return behind, ahead
}

// settled reports whether the record at log[i] is settled.
func (k keptPosition) settled(i int, r *outbox.Record) bool {
	return i < k.From || i < k.To && r.Seq <= k.Last
}

// parse reads a position. The caller holds ob.mu.
func (s *session) parse(kept []byte) (keptPosition, error) {
	var k keptPosition
	if err := json.Unmarshal(kept, &k); err != nil {
		return k, unusable(fmt.Errorf("%w: %w", errPosition, err))
	}
	if k.Format != positionFormat || k.Slot != s.SlotName() || k.Slots < 1 || k.From < 0 || k.To < k.From || k.Last < 0 {
		return k, unusable(fmt.Errorf("%w: %+v is not of %s", errPosition, k, s.SlotName()))
	}
	if err := basis.Same(basis.ErrBehindSink, "outbox", k.Outbox, s.ob.id); err != nil {
		return k, unusable(err)
	}
	if err := basis.Reached(basis.ErrBehindSink, "record", k.To, len(s.ob.log)); err != nil {
		return k, unusable(err)
	}
	return k, nil
}

func unusable(err error) error { return fmt.Errorf("%w: %w", driver.ErrSourceUnusable, err) }
