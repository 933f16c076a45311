package pginbox

import (
	"context"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/outbox"
	outboxadmin "github.com/leat-go/leat/outbox/admin"
)

// ObserveHook is called for deliveries that only Config.Observe has let run.
type ObserveHook interface {
	// OnPginboxObserve is called before the delivery runs, on its goroutine.
	OnPginboxObserve(ctx context.Context, e ObserveEvent)
}

// ObserveEvent is a delivery that would not have run without Config.Observe.
type ObserveEvent struct {
	// Consumer and ID are the message.
	Consumer, ID string
	// Would is the outcome that the delivery would have had: OutcomeDuplicate, OutcomeBusy, or
	// OutcomeFailed for a message that is too old or from the future.
	Would inbox.Outcome
	// Err is driver.ErrTooOld or driver.ErrTooNew, or nil.
	Err error
}

// alarm raises an alarm and records it for the round.
func (r *maintenanceRound) alarm(ctx context.Context, a outbox.AlarmEvent) {
	a.Package = "pginbox"
	if a.Kind == AlarmBusy || a.Kind == AlarmClock {
		r.alarmed = append(r.alarmed, a)
	}
	r.Maintenance.alarm(ctx, a)
}

func (m *Maintenance) observe(ctx context.Context, e outboxadmin.MaintenanceEvent) {
	hooks.Call(ctx, m.log, m.hooks, func(h outboxadmin.MaintenanceHook) { h.OnAdminMaintenance(ctx, e) })
}
