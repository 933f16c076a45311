package memoutbox

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// brokenSlots are the ways of dividing a group that lose, repeat or reorder.
func brokenSlots() []negative {
	return []negative{
		{"one slot reads all keys", undivided, map[string]string{
			"O5_KeyInOneSlot":       "reads every key",
			"O2_SlotReadsItsTopics": "slot 0:",
		}},
		{"records are divided, not keys", dividedByNumber, map[string]string{
			"O5_KeyInOneSlot": "is read in slots",
		}},
		{"anybody gets the first slot", freeForAll, map[string]string{
			"O9_OneHolderASlot": "two hold the lease of slot 0",
		}},
		{"all slots share a position", sharedSlots, map[string]string{
			"O12_SlotsKeepTheirOwnPositions": "slot 0 had settled two of five",
		}},
		{"uncommitted rows are read in slots", dirtyRead, map[string]string{
			"O2_SlotsUnderConcurrentWriters": "never committed [",
		}},
		{"the place of one that has left is kept", keptPlace, map[string]string{
			"O14_SlotsAreShared": "after one of 3 has left",
		}},
		{"nobody leads more than one slot", oneSlotEach, map[string]string{
			"Relay_O5_RelaysShareSlots":  "the relays lead [1 1] of 3 slots",
			"Relay_O5_RelaysChangeSlots": "the relays lead [1 1] of 3 slots",
			"O14_SlotsAreShared":         "source 1 of 3",
		}},
		{"one relay decides how many slots there are", decidesAlone, map[string]string{
			"O14_SlotsThatDisagreeStay": "one of two relays wants what there is",
		}},
		{"a change does not wait for every slot", hastyChange, map[string]string{
			"O5_ChangeOfSlotsWaitsForEverySlot": "an earlier record of the key is not settled",
		}},
		{"a change begins at the end of the log", forgetfulChange, map[string]string{
			"O2_ChangeOfSlotsLosesNothing": "lost [",
		}},
		{"a change begins anew", repeatingChange, map[string]string{
			"O2_ChangeOfSlotsLosesNothing": "twice or never committed [",
		}},
	}
}

func undivided(c *control) {
	c.session = func(s *session) driver.Session {
		if s.slots > 1 {
			s.slots = 1
		}
		return s
	}
}

// dividedByNumber gives a slot every nth record.
func dividedByNumber(c *control) {
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, read: func(ctx context.Context, limit int) (driver.Page, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if s.pos.done == len(s.window) {
				s.open()
				s.window = slices.DeleteFunc(c.window(s.pos), func(r outbox.Record) bool { return int(r.Seq+r.Seq/64)%s.slots != s.slot })
			}
			at := s.read
			s.read = min(at+limit, len(s.window))
			return driver.Page{
				Records: s.window[at:s.read],
				Cursor:  cursor{from: s.pos.from, to: s.pos.to, first: at},
			}, ctx.Err()
		}}
	}
}

// sharedSlots begins every session where the slot that is furthest stands.
func sharedSlots(c *control) {
	c.acquire = func(ctx context.Context, s *source, ttl time.Duration) (driver.Session, error) {
		c.mu.Lock()
		var furthest position
		for _, g := range c.groups {
			if g.pos.from >= furthest.from {
				furthest = g.pos
			}
		}
		for _, g := range c.groups {
			if !g.leased() {
				g.pos = furthest
			}
		}
		c.mu.Unlock()
		return s.Acquire(ctx, ttl)
	}
}

func keptPlace(c *control) {
	c.leave = func() error { return nil }
}

func oneSlotEach(c *control) {
	c.share = func(share driver.Share) driver.Share {
		share.Fair = 1
		return share
	}
}

func decidesAlone(c *control) {
	c.alone = true
}

// badChange gives a group its new number of slots when ready says
// so, and begins them where begin says.
func badChange(c *control, ready func(c *control, s *source, h *sharing) bool, begin func(c *control, h *sharing) int) {
	c.acquire = func(ctx context.Context, s *source, ttl time.Duration) (driver.Session, error) {
		c.mu.Lock()
		if h := s.sharing(); h.next > 0 && ready(c, s, h) {
			at := begin(c, h)
			for slot := range h.slots {
				s.slotOf(slot).held = false
			}
			h.slots, h.next = h.next, 0
			for slot := range h.slots {
				s.slotOf(slot).pos = position{from: at, to: at}
			}
		}
		c.mu.Unlock()
		return s.Acquire(ctx, ttl)
	}
}

// allEnded is when a change is due.
func allEnded(_ *control, s *source, h *sharing) bool {
	for slot := range h.slots {
		if g := s.slotOf(slot); g.leased() || !h.ends(g.pos) {
			return false
		}
	}
	return true
}

func hastyChange(c *control) {
	badChange(c, func(_ *control, s *source, h *sharing) bool {
		return !s.slotOf(0).leased() && h.ends(s.slotOf(0).pos)
	}, func(_ *control, h *sharing) int { return h.marker })
}

func forgetfulChange(c *control) {
	badChange(c, allEnded, func(c *control, _ *sharing) int { return len(c.log) })
}

func repeatingChange(c *control) {
	badChange(c, allEnded, func(*control, *sharing) int { return 0 })
}
