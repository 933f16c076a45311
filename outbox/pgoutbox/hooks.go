package pgoutbox

import (
	"context"
	"time"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

func (o *Outbox) observe(ctx context.Context, e outbox.EnqueueEvent) {
	hooks.Call(ctx, o.cfg.Logger, o.cfg.Hooks, func(h outbox.EnqueueHook) { h.OnOutboxEnqueue(ctx, e) })
}

func (m *Maintenance) observe(ctx context.Context, e admin.MaintenanceEvent) {
	hooks.Call(ctx, m.log, m.cfg.Hooks, func(h admin.MaintenanceHook) { h.OnAdminMaintenance(ctx, e) })
}

// promote moves due messages into the log, and calls the hooks if there were any.
func (m *Maintenance) promote(ctx context.Context) (moved int64, stayed bool, err error) {
	began := time.Now()
	moved, stayed, err = m.ob.promote(ctx)
	m.timing.done(ctx, admin.MaintenanceReport{Promoted: moved}, err)
	if moved > 0 || err != nil {
		m.observe(ctx, admin.MaintenanceEvent{Between: true, Report: admin.MaintenanceReport{Promoted: moved}, Took: time.Since(began), Err: err})
	}
	return moved, stayed, err
}
