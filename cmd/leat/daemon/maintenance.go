package daemon

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// Maintenance keeps an outbox or an inbox in shape. See MaintainOutbox and MaintainInbox.
type Maintenance struct {
	kind, store string
	run         func(ctx context.Context) error
	state       func() maintenanceState
}

// maintenanceState is the state of either kind of maintenance.
type maintenanceState struct {
	tasks   []task
	leader  string
	lastErr error
	works   bool // regardless of the tasks
}

// task is a recurring task of a maintenance.
type task struct {
	leads bool
	last  time.Time     // when it last ran or was tried, or won the lease
	every time.Duration // the wait between two runs
}

// MaintainOutbox returns the maintenance of an outbox, under the name that the status shows. The daemon
// knows its errors, and whether it hangs, only if m has the methods State and Interval, as those of leat's
// stores do. Of any other m it knows only that it runs. Errors wrap outbox.ErrInvalidConfig.
func MaintainOutbox(name string, m Runner) (Maintenance, error) {
	return maintain("maintenance", name, m)
}

// MaintainInbox is MaintainOutbox for an inbox.
func MaintainInbox(name string, m Runner) (Maintenance, error) {
	return maintain("inbox maintenance", name, m)
}

func maintain(kind, name string, m Runner) (Maintenance, error) {
	if name == "" || isNil(m) {
		return Maintenance{}, outbox.ConfigError("name, m", name, "both must be set")
	}
	return Maintenance{kind, name, m.Run, stateOf(m)}, nil
}

func isNil(m Runner) bool {
	v := reflect.ValueOf(m)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// stateOf returns a function that reads the state of m. An m that does not report its state works as long
// as it runs.
func stateOf(m Runner) func() maintenanceState {
	teller, tells := m.(interface {
		State() admin.MaintenanceState
		Interval() time.Duration
	})
	if !tells {
		return func() maintenanceState { return maintenanceState{works: true} }
	}
	return func() maintenanceState { return stateNow(teller.State(), teller.Interval()) }
}

// stateNow converts s, the state of a maintenance with a round every interval. The search for delayed
// messages runs all the time, and is a task of its own.
func stateNow(s admin.MaintenanceState, interval time.Duration) maintenanceState {
	// A long standby is not a long run: the time counts from when it won the lease.
	ran := func(t admin.TaskState) time.Time { return later(t.LastRun, t.LeadsSince) }
	tasks := []task{{s.Rounds.Leads, ran(s.Rounds), interval}, {s.Delayed.Leads, ran(s.Delayed), 0}}
	return maintenanceState{tasks: tasks, leader: s.Rounds.Leader, lastErr: errors.Join(s.Rounds.LastErr, s.Delayed.LastErr)}
}

// hangs is how long one round may take, including the archive of a large range.
const hangs = time.Hour

// maintenancePart returns m as a part of a daemon.
func maintenancePart(m Maintenance) *part {
	return &part{
		kind: m.kind, store: m.store, run: m.run,
		look: func(time.Time) PartStatus { return lookAtMaintenance(m.state()) },
		dead: func(now, since time.Time) error {
			for _, t := range m.state().tasks {
				if silent := now.Sub(later(t.last, since)); t.leads && silent > hangs+t.every {
					return fmt.Errorf("%w: for %s", errHangs, silent.Round(time.Minute))
				}
			}
			return nil
		},
	}
}

var errHangs = errors.New("leat: maintenance has done nothing")

func lookAtMaintenance(s maintenanceState) PartStatus {
	status := PartStatus{State: StateStandby, Leader: s.leader}
	if s.works || slices.ContainsFunc(s.tasks, func(t task) bool { return t.leads }) {
		status.State = StateLeader
	}
	if s.lastErr != nil {
		status.State, status.Reason = StateDegraded, brief(s.lastErr)
	}
	return status
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
