package memoutbox

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var (
	_ driver.Sharded = (*Source)(nil)
	_ driver.Slotted = (*session)(nil)
)

// sharing is how the slots of a group are divided among the sources that live.
// Outbox.mu guards it.
type sharing struct {
	slots   int
	members map[*Source]time.Time
}

// sharing returns that of the group, whose number of slots the first source
// decides. The caller holds ob.mu.
func (s *Source) sharing() *sharing {
	h := s.ob.shares[s.group]
	if h == nil {
		h = &sharing{slots: s.slots, members: make(map[*Source]time.Time)}
		s.ob.shares[s.group] = h
	}
	return h
}

// Share implements driver.Sharded. A Source stands for one relay.
func (s *Source) Share(ctx context.Context, ttl time.Duration) (driver.Share, error) {
	if err := ctx.Err(); err != nil {
		return driver.Share{}, err
	}
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	h, now := s.sharing(), time.Now()
	h.members[s] = now.Add(ttl)
	live := 0
	for member, until := range h.members {
		if now.Before(until) {
			live++
		} else {
			delete(h.members, member)
		}
	}
	return driver.Share{Slots: h.slots, Fair: (h.slots + live - 1) / live}, nil
}

// Leave implements driver.Sharded.
func (s *Source) Leave(ctx context.Context) error {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	delete(s.sharing().members, s)
	return ctx.Err()
}

// Slot implements driver.Slotted.
func (s *session) Slot() int {
	return s.slot
}

// reads says whether r belongs to the slot.
func (s *session) reads(r *outbox.Record) bool {
	return int(r.Shard)%s.slots == s.slot
}

// part returns the records of a window that belong to the slot.
func (s *session) part(window []outbox.Record) []outbox.Record {
	if s.slots == 1 {
		return window
	}
	return slices.DeleteFunc(window, func(r outbox.Record) bool { return !s.reads(&r) })
}
