package sqloutbox

import (
	"context"
	"time"

	"github.com/leat-go/leat/internal/hooks"
)

// MaintenanceHook sees what maintenance does.
type MaintenanceHook interface {
	// OnSqloutboxMaintenance is called after each round of a Maintenance, and whenever
	// delayed messages were moved into the log between two rounds, or could not be.
	OnSqloutboxMaintenance(ctx context.Context, e MaintenanceEvent)
}

// MaintenanceEvent is a round that has ended.
type MaintenanceEvent struct {
	// Between is set if delayed messages were moved between two rounds. Report has Promoted
	// alone then.
	Between bool
	// Report is what was done; after an error, what was done before it.
	Report MaintenanceReport
	// Took is the time that it took.
	Took time.Duration
	// Err is what could not be done, nil if nothing; that of ctx if Run was stopped.
	Err error
}

// observe tells of what has ended, and notes a round.
func (m *Maintenance) observe(ctx context.Context, e MaintenanceEvent) {
	if !e.Between {
		m.seen.round(ctx, e.Report, e.Err)
	}
	hooks.Call(ctx, m.ob.cfg.Logger, m.cfg.Hooks, func(h MaintenanceHook) { h.OnSqloutboxMaintenance(ctx, e) })
}
