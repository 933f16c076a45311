package pginbox

import (
	"context"
	"errors"
	"sync"
	"time"
)

// MaintenanceState is how a Maintenance is, for readiness and metrics. A process that
// stands by is as ready as the one that maintains. Times are by this process' clock, zero
// if there was none.
type MaintenanceState struct {
	// Running is set while Run or RunOnce is under way.
	Running bool
	// Elsewhere is set if another process maintained the inbox when this one last asked.
	Elsewhere bool
	// LastRound is when the last round of this process ended. LastErr is what went wrong in
	// it, nil if nothing, and nil while another process maintains the inbox.
	LastRound time.Time
	LastErr   error
	// LastSuccess is when this process last did a whole round: without an error, and without
	// a lock in its way (MaintenanceReport.Busy).
	LastSuccess time.Time
	// Report is that of the last round of this process. It must not be changed. Empty while
	// another process maintains the inbox.
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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Elsewhere = errors.Is(err, errElsewhere)
	switch {
	case s.state.Elsewhere:
		s.state.LastErr, s.state.Report = nil, MaintenanceReport{}
		return
	case err != nil && ctx.Err() != nil:
		return
	}
	s.state.LastRound, s.state.LastErr, s.state.Report = time.Now(), err, report
	if err == nil && !report.Busy {
		s.state.LastSuccess = s.state.LastRound
	}
}
