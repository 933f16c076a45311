package debezium

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/admin"
)

//leat:level 0
func TestAwaited(t *testing.T) {
	t.Parallel()
	slots := func(slots ...admin.SlotStats) admin.GroupStats { return admin.GroupStats{Slots: slots} }
	idle, busy := admin.SlotStats{Slot: 0, Window: 7}, admin.SlotStats{Slot: 1, Window: 7, Backlog: 1}
	at := func(s admin.SlotStats, window, backlog int64) admin.SlotStats {
		s.Window, s.Backlog = window, backlog
		return s
	}
	for name, tt := range map[string]struct {
		looks []admin.GroupStats
		done  bool
	}{
		"idle":                      {[]admin.GroupStats{slots(idle, at(busy, 7, 0))}, true},
		"a window is not enough":    {[]admin.GroupStats{slots(idle, at(busy, 8, 1))}, false},
		"two windows are":           {[]admin.GroupStats{slots(idle, at(busy, 9, 1))}, true},
		"each at a time of its own": {[]admin.GroupStats{slots(idle, busy), slots(at(idle, 8, 1), at(busy, 9, 1))}, true},
		"never together, one never": {[]admin.GroupStats{slots(idle, busy), slots(at(idle, 8, 1), at(busy, 8, 1))}, false},
		"a slot with a problem":     {[]admin.GroupStats{slots(idle, admin.SlotStats{Slot: 1, Window: 9, Problem: "it is ahead of the log"})}, false},
		"a slot is gone":            {[]admin.GroupStats{slots(idle)}, false},
		"a slot is new":             {[]admin.GroupStats{slots(idle, at(busy, 9, 0), admin.SlotStats{Slot: 2})}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			waiting, done := awaiting(slots(idle, busy)), false
			for _, group := range tt.looks {
				done = waiting.look(group)
			}
			require.Equal(t, tt.done, done)
		})
	}
	require.False(t, awaiting(slots()).look(slots()), "no relay has begun")
}
