package pgoutbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

// Interval is the time between two rounds of m.
func (m *Maintenance) Interval() time.Duration { return m.cfg.Interval }

// State returns the state of m. It is safe for concurrent use and does not use the database.
func (m *Maintenance) State() admin.MaintenanceState {
	s := admin.MaintenanceState{Running: m.running.Load()}
	s.Rounds, s.Report = m.keeping.seen()
	s.Delayed, _ = m.timing.seen()
	return s
}

// leasedTask is a task of maintenance, and its state.
type leasedTask struct {
	*pglease.Task

	lease string

	mu     sync.Mutex
	state  admin.TaskState
	report admin.MaintenanceReport
}

func (t *leasedTask) seen() (admin.TaskState, admin.MaintenanceReport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state, t.report
}

// Run is Task.Run, and records the result.
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
		t.state.Leader, t.state.LastErr, t.report = held.Owner, nil, admin.MaintenanceReport{}
	}
	t.mu.Unlock()
	if err != nil && !isHeld {
		t.failed(ctx, err)
	}
	return err
}

// failed records that the task failed. The end of ctx is not a failure.
func (t *leasedTask) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.Ended(err, false)
}

// done records that the task was done, and its result.
func (t *leasedTask) done(ctx context.Context, report admin.MaintenanceReport, err error) {
	if err != nil {
		t.failed(ctx, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report = report
	if err == nil {
		t.state.Ended(nil, !report.Busy)
	}
}
