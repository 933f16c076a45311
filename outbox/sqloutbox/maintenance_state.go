package sqloutbox

import (
	"context"
	"sync"
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

// Interval is the time between two rounds of m.
func (m *Maintenance) Interval() time.Duration { return m.cfg.Interval }

// State returns how m is. It is safe for concurrent use and asks no database.
func (m *Maintenance) State() admin.MaintenanceState {
	m.seen.mu.Lock()
	defer m.seen.mu.Unlock()
	s := m.seen.state
	s.Running = m.running.Load()
	s.Rounds.Leads, s.Delayed.Leads = s.Running, s.Running
	return s
}

// seenState is what State returns, except whether it runs. That ctx ends is not a failure.
type seenState struct {
	mu    sync.Mutex
	state admin.MaintenanceState
}

// round notes how a round has ended.
func (s *seenState) round(ctx context.Context, report admin.MaintenanceReport, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Rounds.Ended(err, true)
	s.state.Report = report
}

// moved notes how it went to move what was delayed; stayed is set if something is left.
func (s *seenState) moved(ctx context.Context, stayed bool, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Delayed.Ended(err, !stayed)
}
