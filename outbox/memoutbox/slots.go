package memoutbox

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var (
	_ driver.Sharded = (*source)(nil)
	_ driver.Slotted = (*session)(nil)
)

// sharing is how the slots of a group are divided among the live sources. Outbox.mu guards it.
type sharing struct {
	slots   int
	members map[*source]member
	// started is set once the group has begun to read; begin is where, a length of the log.
	started bool
	begin   int
	// next is the number of slots that the group is being changed to, 0 if it is not. Its present
	// slots then end at marker, a length of the log.
	next, marker int
}

// member is a live source.
type member struct {
	slots        int // the number that it wants
	since, until time.Time
}

// sharing returns the sharing of the group, whose number of slots the first source decides. The
// caller holds ob.mu.
func (s *source) sharing() *sharing {
	h := s.ob.shares[s.group]
	if h == nil {
		h = &sharing{slots: s.slots, members: make(map[*source]member)}
		s.ob.shares[s.group] = h
	}
	return h
}

// Share implements driver.Sharded. A Source stands for one relay. If SourceConfig.Slots is not
// the group's number of slots, it also requests the change, once all live sources of the group
// agree and s has wanted it for ttl.
func (s *source) Share(ctx context.Context, ttl time.Duration) (driver.Share, error) {
	if err := ctx.Err(); err != nil {
		return driver.Share{}, err
	}
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	h, now := s.sharing(), time.Now()
	m, known := h.members[s]
	if !known || !now.Before(m.until) {
		m = member{slots: s.slots, since: now}
	}
	m.until = now.Add(ttl)
	h.members[s] = m
	live, agreed := 0, true
	for other, m := range h.members {
		if !now.Before(m.until) {
			delete(h.members, other)
			continue
		}
		live++
		agreed = agreed && m.slots == s.slots
	}
	if agreed && h.next == 0 && h.slots != s.slots && now.Sub(m.since) >= ttl {
		h.next, h.marker = s.slots, len(s.ob.log)
	}
	return driver.Share{Slots: h.slots, Fair: (h.slots + live - 1) / live}, nil
}

// Leave implements driver.Sharded.
func (s *source) Leave(ctx context.Context) error {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	delete(s.sharing().members, s)
	return ctx.Err()
}

// Slot implements driver.Slotted.
func (s *session) Slot() int {
	return s.slot
}

// reads reports whether r belongs to the slot.
func (s *session) reads(r *outbox.Record) bool {
	return int(r.Shard)%s.slots == s.slot
}

// part returns the records of a window that belong to the slot, and to the topics of
// the source.
func (s *session) part(window []outbox.Record) []outbox.Record {
	if s.slots == 1 && len(s.topics) == 0 {
		return window
	}
	return slices.DeleteFunc(window, func(r outbox.Record) bool { return !s.owns(&r) })
}

// owns reports whether r belongs to the slot, and to the topics of the source.
func (s *session) owns(r *outbox.Record) bool {
	return s.reads(r) && topics.MatchAny(s.topics, r.Topic)
}
