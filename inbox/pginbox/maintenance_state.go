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

// State returns the state of m. It is safe for concurrent use and does not access the database.
func (m *Maintenance) State() outboxadmin.MaintenanceState {
	m.seen.mu.Lock()
	defer m.seen.mu.Unlock()
	s := m.seen.state
	s.Running = m.running.Load()
	s.Rounds.Leads = s.Rounds.Leads && s.Running
	return s
}

// seenState is the result of State, except Running.
type seenState struct {
	mu    sync.Mutex
	state outboxadmin.MaintenanceState
}

// round records how a round has ended. The end of ctx is not a failure.
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
