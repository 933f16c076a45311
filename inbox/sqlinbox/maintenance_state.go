package sqlinbox

import (
	"context"
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
	s.Rounds.Leads = s.Running
	return s
}

// seenState is what State returns, except whether it runs.
type seenState struct {
	mu    sync.Mutex
	state outboxadmin.MaintenanceState
}

// round notes how a round has ended. That ctx ends is not a failure.
func (s *seenState) round(ctx context.Context, report outboxadmin.MaintenanceReport, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Rounds.Ended(err, true)
	s.state.Report = report
}
