package pginbox

import (
	"context"
	"errors"
	"sync"
	"time"

	outboxadmin "github.com/leat-go/leat/outbox/admin"
)

// Interval is the time between two rounds of m.
func (m *Maintenance) Interval() time.Duration { return m.cfg.Interval }

// State returns how m is. It is safe for concurrent use and asks no database.
func (m *Maintenance) State() outboxadmin.MaintenanceState {
	m.seen.mu.Lock()
	defer m.seen.mu.Unlock()
	s := m.seen.state
	s.Running = m.running.Load()
	s.Rounds.Leads = s.Rounds.Leads && s.Running
	return s
}

// seenState is what State returns, except whether it runs.
type seenState struct {
	mu    sync.Mutex
	state outboxadmin.MaintenanceState
}

// round notes how a round has ended. That ctx ends is not a failure.
func (s *seenState) round(ctx context.Context, report outboxadmin.MaintenanceReport, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	task := &s.state.Rounds
	switch {
	case errors.Is(err, errElsewhere):
		task.Leads, task.LastErr, s.state.Report = false, nil, outboxadmin.MaintenanceReport{}
		return
	case err != nil && ctx.Err() != nil:
		return
	}
	task.Ended(err, !report.Busy)
	if !task.Leads {
		task.Leads, task.LeadsSince = true, task.LastRun
	}
	s.state.Report = report
}
