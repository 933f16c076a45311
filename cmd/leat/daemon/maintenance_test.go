package daemon

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// Maintenance hangs if one of its tasks is silent for an hour longer than it waits between
// two runs, whatever the other task does.
func TestMaintenance_Hangs(t *testing.T) {
	t.Parallel()
	since := time.Now()
	at := func(hours float64) time.Time { return since.Add(time.Duration(hours * float64(time.Hour))) }
	seldom := Maintenance{state: func() maintenanceState {
		return maintenanceState{tasks: []task{{true, at(2), 6 * time.Hour}}}
	}}
	require.NoError(t, maintenancePart(seldom).dead(at(8.9), since), "it waits for its next round")
	require.ErrorIs(t, maintenancePart(seldom).dead(at(9.1), since), errHangs)

	for name, c := range map[string]struct {
		state admin.MaintenanceState
		hangs bool
	}{
		"both run": {admin.MaintenanceState{
			Rounds: admin.TaskState{Leads: true, LastRun: at(9)}, Delayed: admin.TaskState{Leads: true, LastRun: at(10)},
		}, false},
		"a round hangs": {admin.MaintenanceState{
			Rounds: admin.TaskState{Leads: true, LastRun: at(8)}, Delayed: admin.TaskState{Leads: true, LastRun: at(10)},
		}, true},
		"what is delayed hangs": {admin.MaintenanceState{
			Rounds: admin.TaskState{Leads: true, LastRun: at(10)}, Delayed: admin.TaskState{Leads: true, LastRun: at(8)},
		}, true},
		"took over after hours": {admin.MaintenanceState{
			Rounds:  admin.TaskState{Leads: true, LastRun: at(1), LeadsSince: at(9.5)},
			Delayed: admin.TaskState{Leads: true, LeadsSince: at(9.5)},
		}, false},
		"took over, and hangs": {admin.MaintenanceState{
			Rounds: admin.TaskState{Leads: true, LastRun: at(1), LeadsSince: at(8.5)}, Delayed: admin.TaskState{Leads: true, LastRun: at(10)},
		}, true},
		"rounds are another's": {admin.MaintenanceState{
			Rounds: admin.TaskState{LastRun: at(1)}, Delayed: admin.TaskState{Leads: true, LastRun: at(10)},
		}, false},
	} {
		m := Maintenance{state: func() maintenanceState { return stateNow(c.state, time.Minute) }}
		require.Equal(t, c.hangs, maintenancePart(m).dead(at(10), since) != nil, name)
	}
}

type runner struct{}

func (*runner) Run(context.Context) error { return nil }

// Maintenance that tells nothing of itself works as long as it runs, and does not hang.
func TestMaintenance_WithoutState(t *testing.T) {
	t.Parallel()
	m, err := MaintainOutbox("shop", &runner{})
	require.NoError(t, err)
	require.Equal(t, StateLeader, maintenancePart(m).look(time.Now()).State)
	require.NoError(t, maintenancePart(m).dead(time.Now().Add(1000*time.Hour), time.Now()))
	for _, none := range []Runner{nil, (*runner)(nil), (*pgoutbox.Maintenance)(nil)} {
		_, err = MaintainInbox("shop", none)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	}
	_, err = MaintainOutbox("", &runner{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}
