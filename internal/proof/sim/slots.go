package sim

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// slot is a part of the outbox, with a lease and a position of its own.
type slot struct {
	no    int
	lease lease
	pos   position
}

// member is a relay that has reported that it is alive.
type member struct {
	node  *Node
	until time.Duration
}

var (
	_ driver.Sharded = source{}
	_ driver.Slotted = (*session)(nil)
)

// makeSlots divides the outbox into n slots.
func (d *db) makeSlots(n int) {
	for i := range n {
		empty := snapshot{xmax: 1}
		d.slots = append(d.slots, &slot{no: i, pos: position{prev: empty, target: empty}})
	}
}

// shard returns a number that depends on the key, or on the id if there is no key.
func shard(m *outbox.Message) int16 {
	text := m.Key
	text = cmp.Or(text, m.ID)
	var sum int16
	for _, c := range []byte(text) {
		sum = (sum*31 + int16(c)) % 64
	}
	return sum
}

// reads reports whether r belongs to the session's slot.
func (s *session) reads(r *outbox.Record) bool {
	return int(r.Shard)%len(s.db.slots) == s.slot.no
}

// Slot implements driver.Slotted.
func (s *session) Slot() int { return s.slot.no }

// Share implements driver.Sharded.
func (s source) Share(ctx context.Context, ttl time.Duration) (share driver.Share, err error) {
	err = s.node.do(ctx, op{name: "share", faulty: true, stalls: true, late: true}, "", func() error {
		d, now := s.db, s.db.w.now()
		d.members = slices.DeleteFunc(d.members, func(m member) bool { return m.node == s.node || m.until <= now })
		d.members = append(d.members, member{node: s.node, until: now + ttl})
		share = driver.Share{Slots: len(d.slots), Fair: (len(d.slots) + len(d.members) - 1) / len(d.members)}
		return nil
	})
	return share, err
}

// Leave implements driver.Sharded.
func (s source) Leave(ctx context.Context) error {
	return s.node.do(ctx, op{name: "leave", faulty: true, late: true}, "", func() error {
		s.db.members = slices.DeleteFunc(s.db.members, func(m member) bool { return m.node == s.node })
		return nil
	})
}

// about distinguishes the calls of a relay's sessions.
func (s *session) about(detail string) string {
	return strconv.Itoa(s.slot.no) + " " + detail
}
