package pgoutbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestMaintenanceState distinguishes leader and standby, and failed and successful rounds.
func TestMaintenanceState(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	cfg := atOnce()
	cfg.Interval, cfg.DelayedPoll, cfg.Lease = 10*time.Millisecond, 10*time.Millisecond, time.Second
	run := func() (*pgoutbox.Maintenance, func()) {
		m, done := maintenance(t, ob, cfg), make(chan error, 1)
		require.Equal(t, admin.MaintenanceState{}, m.State(), "before it runs")
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- m.Run(ctx) }()
		return m, func() {
			cancel()
			require.NoError(t, <-done)
		}
	}
	works := func(s admin.TaskState) bool {
		return s.Leads && s.Leader == "" && s.LastErr == nil && !s.LastSuccess.IsZero() && s.LastSuccess.Equal(s.LastRun)
	}
	leader, stopLeader := run()
	await(t, "it leads both", func() bool { return works(leader.State().Rounds) && works(leader.State().Delayed) })
	standby, stopStandby := run()
	await(t, "it waits for both", func() bool { return standby.State().Rounds.Leader != "" && standby.State().Delayed.Leader != "" })
	s := standby.State()
	require.True(t, s.Running)
	require.False(t, s.Rounds.Leads || s.Delayed.Leads)
	require.Zero(t, s.Rounds.LastRun)
	require.NoError(t, s.Rounds.LastErr)
	require.Equal(t, query1[string](t, db, "SELECT owner FROM leat.outbox_leases WHERE relay_group = '_maintenance'"), s.Rounds.Leader)

	exec(t, db, "ALTER TABLE leat.outbox_groups RENAME TO gone")
	await(t, "its rounds fail", func() bool { return leader.State().Rounds.LastErr != nil })
	failed := leader.State().Rounds
	require.True(t, failed.Leads)
	require.ErrorIs(t, failed.LastErr, outbox.ErrNotMigrated)
	require.True(t, failed.LastSuccess.Before(failed.LastRun))
	exec(t, db, "ALTER TABLE leat.gone RENAME TO outbox_groups")
	await(t, "and succeed again", func() bool { return works(leader.State().Rounds) })

	stopLeader()
	require.False(t, leader.State().Running || leader.State().Rounds.Leads || leader.State().Delayed.Leads)
	require.NoError(t, leader.State().Rounds.LastErr, "to be stopped is not a failure")
	await(t, "the standby takes over", func() bool { return works(standby.State().Rounds) && works(standby.State().Delayed) })
	stopStandby()
}

// TestMaintenanceState_OfOneRound: the state is kept after RunOnce. With an outbox without a schema, it
// holds that error.
func TestMaintenanceState_OfOneRound(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	m := maintenance(t, ob, atOnce())
	report, err := m.RunOnce(t.Context())
	require.NoError(t, err)
	s := m.State()
	require.False(t, s.Running || s.Rounds.Leads || s.Delayed.Leads)
	require.Equal(t, report.Added, s.Report.Added)
	require.NotZero(t, s.Rounds.LastSuccess)
	require.NotZero(t, s.Delayed.LastSuccess)

	exec(t, db, "DROP TABLE leat.outbox_delayed CASCADE")
	_, err = m.RunOnce(t.Context())
	require.Error(t, err)
	require.Error(t, m.State().Delayed.LastErr)
	require.Equal(t, s.Delayed.LastSuccess, m.State().Delayed.LastSuccess)
}
