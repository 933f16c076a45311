package sqloutbox

import (
	"context"
	"sync"
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

// Interval is the time between two rounds of m.
func (m *Maintenance) Interval() time.Duration { return m.cfg.Interval }

// State returns the state of m. It is safe for concurrent use and does not use the database.
func (m *Maintenance) State() admin.MaintenanceState {
	m.seen.mu.Lock()
	defer m.seen.mu.Unlock()
	s := m.seen.state
	s.Running = m.running.Load()
	s.Rounds.Leads, s.Delayed.Leads = s.Running, s.Running
	return s
}

// seenState is what State returns, except whether it runs. The end of ctx is not a failure.
type seenState struct {
	mu    sync.Mutex
	state admin.MaintenanceState
}

// round records the result of a round.
func (s *seenState) round(ctx context.Context, report admin.MaintenanceReport, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Rounds.Ended(err, true)
	s.state.Report = report
}

// moved records the result of moving delayed messages; stayed is set if some are left.
func (s *seenState) moved(ctx context.Context, stayed bool, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Delayed.Ended(err, !stayed)
}
