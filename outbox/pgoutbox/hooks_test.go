package pgoutbox_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// maintained records what maintenance reports to its hooks.
type maintained struct {
	mu            sync.Mutex
	raised, ended []outbox.AlarmEvent
	rounds        []admin.MaintenanceEvent
}

var (
	_ outbox.AlarmHook      = (*maintained)(nil)
	_ admin.MaintenanceHook = (*maintained)(nil)
)

func (m *maintained) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.Ended {
		e.Ended = false
		m.ended = append(m.ended, e)
		return
	}
	m.raised = append(m.raised, e)
}

func (m *maintained) OnAdminMaintenance(_ context.Context, e admin.MaintenanceEvent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rounds = append(m.rounds, e)
}

// TestHook_Maintenance: each round is an event with its report, and so is a promotion of delayed messages
// between two rounds.
func TestHook_Maintenance(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	heard := &maintained{}
	cfg := small()
	cfg.Hooks = []outbox.Hook{heard}
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		return ob.Enqueue(ctx, tx, delayedBy("k", time.Now().Add(time.Hour), "later")...)
	}))
	exec(t, db, "UPDATE leat.outbox_delayed SET not_before = now() - interval '1 second'")
	m := maintenance(t, ob, cfg)
	require.EqualValues(t, 1, once(t, m).Promoted)
	require.Len(t, heard.rounds, 2)
	require.Positive(t, heard.rounds[0].Took)
	require.NoError(t, heard.rounds[0].Err)
	require.Zero(t, heard.rounds[0].Report.Promoted)
	require.False(t, heard.rounds[0].Between)
	require.True(t, heard.rounds[1].Between)
	require.Equal(t, admin.MaintenanceReport{Promoted: 1}, heard.rounds[1].Report)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.RunOnce(ended)
	require.Error(t, err)
	require.Len(t, heard.rounds, 2, "without the lease there is no round")
}

// TestHook_AlarmEnds: an alarm is reported in each round in which it lasts, and once more when it is over.
func TestHook_AlarmEnds(t *testing.T) {
	t.Parallel()
	ob, _ := smallRanges(t)
	heard := &maintained{}
	cfg := atOnce()
	cfg.Hooks = []outbox.Hook{heard}
	putMany(t, ob, 0, 5)
	s := acquire(t, ob, "")
	m := maintenance(t, ob, cfg)
	for n := range 2 {
		report := once(t, m)
		require.Len(t, report.Alarms, 1)
		require.Equal(t, pgoutbox.AlarmHistoryPinned, report.Alarms[0].Kind)
		require.Len(t, heard.raised, n+1)
		require.Empty(t, heard.ended)
	}
	settle(t, s)
	require.Empty(t, once(t, m).Alarms)
	require.Len(t, heard.ended, 1)
	require.Equal(t, heard.raised[1], heard.ended[0])
	require.Empty(t, once(t, m).Alarms)
	require.Len(t, heard.ended, 1)
}

// attr returns the value of an alarm's attribute.
func attr(a outbox.AlarmEvent, key string) slog.Value {
	for _, has := range a.Attrs {
		if has.Key == key {
			return has.Value
		}
	}
	return slog.Value{}
}
