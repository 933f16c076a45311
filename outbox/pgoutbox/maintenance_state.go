package pgoutbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

// MaintenanceState is how a Maintenance is, for readiness and metrics. A standby is as
// ready as a leader.
type MaintenanceState struct {
	// Running is set while Run or RunOnce is under way.
	Running bool
	// Rounds is about the rounds, Delayed about moving what was delayed into the log. Each
	// has a lease of its own, so that two processes may share them.
	Rounds, Delayed TaskState
	// Report is that of the last round of this process, with its Alarms. It must not be
	// changed. Empty while another process does the rounds.
	Report MaintenanceReport
}

// TaskState is how one task of a Maintenance is. Times are by this process' clock, zero if
// there was none.
type TaskState struct {
	// Leads is set while this process holds the lease of the task.
	Leads bool
	// LeadsSince is when this process last won the lease.
	LeadsSince time.Time
	// Leader is the process that held the lease when this one last asked for it. "" if this
	// one leads or has not asked.
	Leader string
	// LastRun is when this process last did the task, or tried to and failed. LastErr is
	// what went wrong then, nil if nothing, and nil while another process leads.
	LastRun time.Time
	LastErr error
	// LastSuccess is when this process last did all of the task: without an error, and
	// without producers in its way (MaintenanceReport.Busy).
	LastSuccess time.Time
}

// Interval is the time between two rounds of m.
func (m *Maintenance) Interval() time.Duration { return m.cfg.Interval }

// State returns how m is. It is safe for concurrent use and asks no database.
func (m *Maintenance) State() MaintenanceState {
	s := MaintenanceState{Running: m.running.Load()}
	s.Rounds, s.Report = m.keeping.seen()
	s.Delayed, _ = m.timing.seen()
	return s
}

// leasedTask is a task of maintenance, and how it is.
type leasedTask struct {
	*pglease.Task

	lease string

	mu     sync.Mutex
	state  TaskState
	report MaintenanceReport
}

func (t *leasedTask) seen() (TaskState, MaintenanceReport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state, t.report
}

// Run is that of the Task, and notes how it went.
func (t *leasedTask) Run(ctx context.Context, work func(context.Context) error) error {
	err := t.Task.Run(ctx, func(ctx context.Context) error {
		t.mu.Lock()
		t.state.Leads, t.state.LeadsSince, t.state.Leader = true, time.Now(), ""
		t.mu.Unlock()
		return work(ctx)
	})
	held, isHeld := errors.AsType[*driver.LeaseHeldError](err)
	t.mu.Lock()
	t.state.Leads = false
	if isHeld {
		t.state.Leader, t.state.LastErr, t.report = held.Owner, nil, MaintenanceReport{}
	}
	t.mu.Unlock()
	if err != nil && !isHeld {
		t.failed(ctx, err)
	}
	return err
}

// failed notes that the task could not be done. That ctx ends is no failure.
func (t *leasedTask) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.LastRun, t.state.LastErr = time.Now(), err
}

// done notes that the task was done, and what came of it.
func (t *leasedTask) done(ctx context.Context, report MaintenanceReport, err error) {
	if err != nil {
		t.failed(ctx, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report = report
	if err != nil {
		return
	}
	t.state.LastRun, t.state.LastErr = time.Now(), nil
	if !report.Busy {
		t.state.LastSuccess = t.state.LastRun
	}
}
