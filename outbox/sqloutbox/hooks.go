package sqloutbox

import (
	"context"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/outbox/admin"
)

// observe calls the hooks about what has ended, and records a round.
func (m *Maintenance) observe(ctx context.Context, e admin.MaintenanceEvent) {
	if !e.Between {
		m.seen.round(ctx, e.Report, e.Err)
	}
	hooks.Call(ctx, m.ob.cfg.Logger, m.cfg.Hooks, func(h admin.MaintenanceHook) { h.OnAdminMaintenance(ctx, e) })
}
