package relay

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox"
)

// recountEvery is how often a relay that has reached MaxHeld asks how many records are
// held.
const recountEvery = 30 * time.Second

// hasRoom reports whether another record can be set aside, with pending ones in addition to those
// that are held.
func (h *heldRecords) hasRoom(pending int) bool {
	return h.count+pending < h.s.relay.cfg.MaxHeld
}

// findRoom counts the held records again now and then, since an operator may have dropped some,
// and reports whether there is room for more than pending ones. If there is not, it raises the
// alarm, once.
func (h *heldRecords) findRoom(work context.Context, pending int) (room bool, err error) {
	if h.counted.IsZero() || time.Since(h.counted) >= recountEvery {
		if err := h.recount(work); err != nil {
			return false, err
		}
		room = h.hasRoom(pending)
	}
	if !room {
		h.full = true
		r := h.s.relay
		r.watch.raise(work, r, standing{kind: AlarmHeldCap, slot: h.s.term.slot}, outbox.AlarmEvent{
			Kind:   AlarmHeldCap,
			Detail: fmt.Sprintf("slot %d has set aside as many records as it may; it stops at its page until they are dealt with", h.s.term.slot),
		})
	}
	return room, nil
}

// recount asks for the number of held records.
func (h *heldRecords) recount(work context.Context) error {
	n, err := h.holder.CountHeld(work)
	if err != nil {
		return h.s.term.fault(work, "count_held", err)
	}
	h.counted, h.count = time.Now(), n
	h.show()
	h.clearFull()
	return nil
}

// clearFull ends the alarm if there is room again, so that it can be raised again.
func (h *heldRecords) clearFull() {
	if h.full && h.hasRoom(0) {
		h.full = false
		h.s.relay.watch.clear(standing{kind: AlarmHeldCap, slot: h.s.term.slot})
	}
}
