package memoutbox

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

// Stats implements admin.Outbox.
func (ob operator) Stats(ctx context.Context) (admin.Stats, error) {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	ob.promote()
	stats := admin.Stats{LastSeq: ob.seq, Rows: int64(len(ob.log)), Delayed: len(ob.later)}
	for i := range ob.log {
		stats.Bytes += int64(len(ob.log[i].Payload))
	}
	for _, g := range ob.slots() {
		if g.slot == 0 {
			stats.Groups = append(stats.Groups, ob.heldOf(g.name).Stats())
		}
		last := &stats.Groups[len(stats.Groups)-1]
		last.Slots = append(last.Slots, ob.slotStats(g))
		ob.addOutages(last, g)
	}
	return stats, ctx.Err()
}

// slotStats returns the state of a slot. The caller holds ob.mu.
func (ob *Outbox) slotStats(g *group) admin.SlotStats {
	s := admin.SlotStats{Slot: g.slot, Epoch: g.epoch}
	if g.held {
		s.Owner, s.LeaseLeft = ownerOf(g.name, g.epoch), max(0, time.Until(g.until))
	}
	var oldest time.Time
	for r := range ob.unsettled(g) {
		if s.Backlog++; s.Backlog == 1 || r.CreatedAt.Before(oldest) {
			oldest = r.CreatedAt
		}
	}
	if s.Backlog > 0 {
		s.Lag = max(0, time.Since(oldest))
	}
	return s
}
