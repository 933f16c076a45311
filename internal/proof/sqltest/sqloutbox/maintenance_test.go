package sqloutbox_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// rounds receives the events of maintenance.
type rounds chan admin.MaintenanceEvent

var _ admin.MaintenanceHook = rounds(nil)

func (r rounds) OnAdminMaintenance(_ context.Context, e admin.MaintenanceEvent) { r <- e }

// TestMaintenanceIsObserved: hooks are called for rounds, including failed ones, and for delayed messages
// that are moved between two rounds. State returns the same later.
func TestMaintenanceIsObserved(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		ob := newOutbox(t, db, dialect)
		heard := make(rounds, 100)
		m, err := sqloutbox.NewMaintenance(ob, sqloutbox.MaintenanceConfig{
			Interval: time.Hour, DelayedPoll: time.Millisecond, Hooks: []outbox.Hook{heard},
		})
		require.NoError(t, err)
		require.Equal(t, admin.MaintenanceState{}, m.State(), "before it runs")
		require.Equal(t, time.Hour, m.Interval())

		report, err := m.RunOnce(t.Context())
		require.NoError(t, err)
		e := <-heard
		require.Equal(t, admin.MaintenanceEvent{Report: report, Took: e.Took}, e)
		require.Positive(t, e.Took)
		good := m.State()
		require.False(t, good.Running)
		for _, task := range []admin.TaskState{good.Rounds, good.Delayed} {
			require.NoError(t, task.LastErr)
			require.False(t, task.LastRun.IsZero())
			require.Equal(t, task.LastRun, task.LastSuccess)
		}

		exec(t, db, "UPDATE leat_outbox SET id = 'x' WHERE seq = -1")
		_, err = m.RunOnce(t.Context())
		require.ErrorContains(t, err, anew)
		require.Equal(t, err, (<-heard).Err)
		bad := m.State()
		require.Equal(t, err, bad.Rounds.LastErr)
		require.Equal(t, good.Rounds.LastSuccess, bad.Rounds.LastSuccess)
		require.NoError(t, bad.Delayed.LastErr, "that has gone well")
		require.NoError(t, rebase(t, ob))

		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		require.False(t, (<-heard).Between, "the first round")
		require.True(t, m.State().Running)
		later := message("k", "later")
		later.NotBefore = time.Now().Add(10 * time.Second)
		commit(t, ob, later)
		exec(t, db, "UPDATE leat_outbox_delayed SET not_before = 1")
		e = <-heard
		require.NoError(t, e.Err)
		require.True(t, e.Between)
		require.Equal(t, admin.MaintenanceReport{Promoted: 1}, e.Report)
		cancel()
		require.NoError(t, <-ended)
		require.False(t, m.State().Running)
	})
}

func TestMaintenanceRefusesForeignHooks(t *testing.T) {
	t.Parallel()
	ob, err := sqloutbox.New(new(sql.DB), outbox.SQLite, sqloutbox.Config{})
	require.NoError(t, err)
	_, err = sqloutbox.NewMaintenance(ob, sqloutbox.MaintenanceConfig{Hooks: []outbox.Hook{struct{}{}}})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "Hooks[0]")
}
