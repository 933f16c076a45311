package pgoutbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/admin"
)

// TestO2_DropWaits_ForWritersOfTheRange: a drop waits for the transactions that have written to its range
// before it checks the range, even if it need not wait for anything else.
func TestO2_DropWaits_ForWritersOfTheRange(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	cfg := atOnce()
	cfg.LockTimeout = 30 * time.Second
	ahead := cfg
	ahead.Ahead = 5
	cfg.Ahead = 1
	s := acquire(t, ob, "")
	putMany(t, ob, 0, 8)
	require.Empty(t, once(t, maintenance(t, ob, ahead)).Dropped, "numbers of the first range are still to be drawn")
	late := begin(t, ob, db).put("late", "late")
	putMany(t, ob, 8, 4)
	settle(t, s)

	done := make(chan admin.MaintenanceReport, 1)
	m := maintenance(t, ob, cfg)
	go func() {
		r, err := m.RunOnce(t.Context())
		r.Busy = r.Busy || err != nil
		done <- r
	}()
	await(t, "maintenance waits", func() bool {
		return query1[int](t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") > 0
	})
	late.commit()
	report := <-done
	require.False(t, report.Busy)
	require.Empty(t, report.Dropped)
	require.Equal(t, []string{"late"}, payloads(readAll(t, s, 10)))
	require.NotEmpty(t, once(t, m).Dropped)
}
