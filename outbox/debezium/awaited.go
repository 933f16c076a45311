package debezium

import "github.com/leat-go/leat/outbox/admin"

// awaited are the slots that have not yet settled all that had committed at the first look, each
// with the window that was open then. A slot that has done so stays done, whatever is written
// afterwards.
//
// The window that was open may not cover all of it, but the next one does, and is settled once a
// further one is opened. An idle relay opens none, and has no backlog.
type awaited struct {
	windows map[int]int64
	slots   int
}

// awaiting returns the slots of group as the first look finds them.
func awaiting(group admin.GroupStats) awaited {
	a := awaited{windows: map[int]int64{}, slots: len(group.Slots)}
	for _, s := range group.Slots {
		a.windows[s.Slot] = s.Window
	}
	return a
}

// look takes a later look into account, and reports whether all slots are done. A group without
// slots, or with another number of them, cannot be told from a group that begins anew.
func (a awaited) look(group admin.GroupStats) bool {
	if a.slots == 0 || len(group.Slots) != a.slots {
		return false
	}
	for _, s := range group.Slots {
		window, waits := a.windows[s.Slot]
		if waits && s.Problem == "" && (s.Backlog == 0 || s.Window >= window+2) {
			delete(a.windows, s.Slot)
		}
	}
	return len(a.windows) == 0
}
