package sqlinbox

import (
	"context"
	"sync"
	"time"
)

// MaintenanceState is how a Maintenance is, for readiness and metrics. Any number of
// processes may run one: none stands by. Times are by this process' clock, zero if there was
// none.
type MaintenanceState struct {
	// Running is set while Run or RunOnce is under way.
	Running bool
	// LastRound is when the last round of this process ended. LastErr is what went wrong in
	// it, nil if nothing.
	LastRound time.Time
	LastErr   error
	// LastSuccess is when the last round of this process ended without an error.
	LastSuccess time.Time
	// Report is that of the last round of this process.
	Report MaintenanceReport
}

// Interval is the time between two rounds of m.
func (m *Maintenance) Interval() time.Duration { return m.cfg.Interval }

// State returns how m is. It is safe for concurrent use and asks no database.
func (m *Maintenance) State() MaintenanceState {
	m.seen.mu.Lock()
	defer m.seen.mu.Unlock()
	s := m.seen.state
	s.Running = m.running.Load()
	return s
}

// seenState is what State returns, but for Running.
type seenState struct {
	mu    sync.Mutex
	state MaintenanceState
}

// round notes how a round has ended. That ctx ends is no failure.
func (s *seenState) round(ctx context.Context, report MaintenanceReport, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.LastRound, s.state.LastErr, s.state.Report = time.Now(), err, report
	if err == nil {
		s.state.LastSuccess = s.state.LastRound
	}
}
