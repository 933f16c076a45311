package sqlinbox_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// rounds receives the events of maintenance.
type rounds chan admin.MaintenanceEvent

var _ admin.MaintenanceHook = rounds(nil)

func (r rounds) OnAdminMaintenance(_ context.Context, e admin.MaintenanceEvent) { r <- e }

// heard collects the alarms that were raised and those that have ended.
type heard struct{ raised, ended []outbox.AlarmEvent }

func (h *heard) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) {
	if e.Ended {
		h.ended = append(h.ended, e)
		return
	}
	h.raised = append(h.raised, e)
}

// TestMaintenanceIsObserved: hooks are called for rounds, including failed ones. State returns the same
// later.
func TestMaintenanceIsObserved(t *testing.T) {
	t.Parallel()
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, open(t, nil), sqlinbox.Config{})
			in, err := s.open("c", inbox.Config{})
			require.NoError(t, err)
			heard := make(rounds, 10)
			m, err := sqlinbox.NewMaintenance(s.db, s.dialect, sqlinbox.Config{}, sqlinbox.MaintenanceConfig{
				Retention: time.Hour, Interval: time.Minute, Hooks: []outbox.Hook{heard},
			})
			require.NoError(t, err)
			require.Equal(t, admin.MaintenanceState{}, m.State(), "before it runs")
			require.Equal(t, time.Minute, m.Interval())
			_, err = in.Process(t.Context(), message.NewMessage("no time in it", nil), func(context.Context) error { return nil })
			require.NoError(t, err)
			_, err = s.look.ExecContext(t.Context(), "UPDATE leat_inbox SET at = 1")
			require.NoError(t, err)

			report, err := m.RunOnce(t.Context())
			require.NoError(t, err)
			require.Equal(t, int64(1), report.Deleted)
			e := <-heard
			require.Equal(t, admin.MaintenanceEvent{Report: report, Took: e.Took}, e)
			require.Positive(t, e.Took)
			good := m.State()
			require.Equal(t, admin.MaintenanceState{
				Rounds: admin.TaskState{LastRun: good.Rounds.LastSuccess, LastSuccess: good.Rounds.LastSuccess}, Report: report,
			}, good)
			require.False(t, good.Rounds.LastRun.IsZero())

			_, err = s.look.ExecContext(t.Context(), "ALTER TABLE leat_inbox_attempts RENAME TO away")
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- m.Run(ctx) }()
			require.ErrorIs(t, (<-heard).Err, outbox.ErrNotMigrated)
			bad := m.State()
			require.True(t, bad.Running && bad.Rounds.Leads)
			require.ErrorIs(t, bad.Rounds.LastErr, outbox.ErrNotMigrated)
			require.Equal(t, good.Rounds.LastSuccess, bad.Rounds.LastSuccess)
			cancel()
			require.NoError(t, <-ended)
			require.Empty(t, heard, "it was stopped between two rounds")
			require.Equal(t, bad.Rounds.LastRun, m.State().Rounds.LastRun)
		})
	}
}

func TestMaintenanceRefusesForeignHooks(t *testing.T) {
	t.Parallel()
	s := newSubject(t, openSQLite(t, nil), sqlinbox.Config{})
	_, err := sqlinbox.NewMaintenance(s.db, s.dialect, sqlinbox.Config{}, sqlinbox.MaintenanceConfig{
		Retention: time.Hour, Hooks: []outbox.Hook{struct{}{}},
	})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "Hooks[0]")
}

// TestI7_ClockThatJumps: one round of maintenance sees a clock that is a month ahead. No id and no audit
// entry is deleted, and no message is too old once the clock is right. Until then it raises an alarm.
func TestI7_ClockThatJumps(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ahead := open(t, map[string]string{"timestamp": strconv.FormatInt(time.Now().AddDate(0, 1, 0).Unix(), 10)})
			s := newSubject(t, &database{dialect: ahead.dialect, config: ahead.config, look: ahead.look, db: ahead.look, commits: ahead.commits}, sqlinbox.Config{})
			in, err := s.open("c", inbox.Config{})
			require.NoError(t, err)
			handle := func(id string, want inbox.Outcome) {
				t.Helper()
				outcome, err := in.Process(t.Context(), message.NewMessage(id, nil), func(context.Context) error { return nil })
				require.NoError(t, err)
				require.Equal(t, want, outcome)
			}
			recent, err := uuid.NewV7()
			require.NoError(t, err)
			handle("no time in it", inbox.OutcomeCommitted)
			handle(recent.String(), inbox.OutcomeCommitted)

			_, err = s.look.ExecContext(t.Context(), `INSERT INTO leat_inbox_audit
				(at, consumer, action, actor, reason, parked_no, message_id, topic, msg_key, details) VALUES (?, 0, 'a', '', '', 0, '', '', '', '{}')`, time.Now().UnixMicro())
			require.NoError(t, err)
			var alarms heard
			ahead.db.SetMaxOpenConns(1) // whose clock is set right below
			m, err := sqlinbox.NewMaintenance(ahead.db, s.dialect, sqlinbox.Config{}, sqlinbox.MaintenanceConfig{
				Retention: 7 * 24 * time.Hour, KeepAudit: 24 * time.Hour, Hooks: []outbox.Hook{&alarms},
			})
			require.NoError(t, err)
			report, err := m.RunOnce(t.Context())
			require.ErrorContains(t, err, "the clocks of database and process differ by")
			require.Zero(t, report.Deleted)
			require.Equal(t, []outbox.AlarmEvent{{Package: "sqlinbox", Kind: sqlinbox.AlarmClock, Detail: err.Error()}}, alarms.raised)
			require.Equal(t, alarms.raised, report.Alarms)
			handle("no time in it", inbox.OutcomeDuplicate)
			handle(recent.String(), inbox.OutcomeDuplicate)
			another, err := uuid.NewV7()
			require.NoError(t, err)
			handle(another.String(), inbox.OutcomeCommitted)

			_, err = ahead.db.ExecContext(t.Context(), "SET timestamp = DEFAULT")
			require.NoError(t, err)
			require.Empty(t, alarms.ended)
			report, err = m.RunOnce(t.Context())
			require.NoError(t, err)
			require.Empty(t, report.Alarms)
			var audited int
			require.NoError(t, s.look.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM leat_inbox_audit").Scan(&audited))
			require.Equal(t, 1, audited)
			require.Len(t, alarms.ended, 1, "the clock is right")
			require.Len(t, alarms.raised, 1)
		})
	}
}

// TestI7_FloorRisesSlowly: if the clocks of database and process are wrong together, maintenance cannot
// notice it. They raise the floor by an hour at a time, not by a month.
func TestI7_FloorRisesSlowly(t *testing.T) {
	t.Parallel()
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, open(t, nil), sqlinbox.Config{})
			floor := func(retention time.Duration) time.Time {
				m, err := sqlinbox.NewMaintenance(s.db, s.dialect, sqlinbox.Config{}, sqlinbox.MaintenanceConfig{Retention: retention})
				require.NoError(t, err)
				report, err := m.RunOnce(t.Context())
				require.NoError(t, err)
				return report.Floor
			}
			before := floor(30 * 24 * time.Hour)
			require.Equal(t, time.Hour, floor(time.Hour).Sub(before))
		})
	}
}
