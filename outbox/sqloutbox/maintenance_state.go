package sqloutbox

import (
	"context"
	"sync"
	"time"
)

// MaintenanceState is how a Maintenance is, for readiness and metrics. Any number of
// processes may run one, and do each thing once: none stands by.
type MaintenanceState struct {
	// Running is set while Run or RunOnce is under way.
	Running bool
	// Rounds is about the rounds, Delayed about moving what was delayed into the log.
	Rounds, Delayed TaskState
	// Report is that of the last round of this process. It must not be changed.
	Report MaintenanceReport
}

// TaskState is how one task of a Maintenance is. Times are by this process' clock, zero if
// there was none.
type TaskState struct {
	// LastRun is when this process last did the task, or tried to and failed. LastErr is
	// what went wrong then, nil if nothing.
	LastRun time.Time
	LastErr error
	// LastSuccess is when this process last did all of the task: without an error, and
	// without a transaction or another process in its way.
	LastSuccess time.Time
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

// round notes how a round has ended.
func (s *seenState) round(ctx context.Context, report MaintenanceReport, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Rounds.ended(ctx, err, true) {
		s.state.Report = report
	}
}

// moved notes how it went to move what was delayed; stayed is set if something is left.
func (s *seenState) moved(ctx context.Context, stayed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Delayed.ended(ctx, err, !stayed)
}

// ended reports whether the end of a task counts. That ctx ends is no failure.
func (t *TaskState) ended(ctx context.Context, err error, all bool) bool {
	if err != nil && ctx.Err() != nil {
		return false
	}
	t.LastRun, t.LastErr = time.Now(), err
	if err == nil && all {
		t.LastSuccess = t.LastRun
	}
	return true
}
