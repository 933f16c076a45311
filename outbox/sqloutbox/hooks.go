package sqloutbox

import (
	"context"
	"errors"

	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// AlarmClock is raised if the clocks of the database and of this process differ by more than an hour, or if the clock
// of the database has jumped. Rounds of maintenance fail then, and nothing is deleted or exempted until it is trusted
// again.
const AlarmClock outbox.AlarmKind = "clock"

// observe calls the hooks about what has ended, and records a round.
func (m *Maintenance) observe(ctx context.Context, e admin.MaintenanceEvent) {
	if !e.Between {
		m.seen.round(ctx, e.Report, e.Err)
	}
	hooks.Call(ctx, m.ob.cfg.Logger, m.cfg.Hooks, func(h admin.MaintenanceHook) { h.OnAdminMaintenance(ctx, e) })
}

// alarms raises an alarm for a clock that a round does not trust, and ends it once the clock is trusted
// again.
func (m *Maintenance) alarms(ctx context.Context, err error) (raised []outbox.AlarmEvent) {
	if doubt, ok := errors.AsType[clocks.DoubtError](err); ok {
		raised = []outbox.AlarmEvent{{Package: "sqloutbox", Kind: AlarmClock, Detail: doubt.Error()}}
	}
	for _, a := range raised {
		m.tell(ctx, a)
	}
	m.alarmsEnded(ctx, m.standing.Round(raised, func(a outbox.AlarmEvent) string { return string(a.Kind) }, err == nil))
	return raised
}

// alarmsEnded reports alarms that are over.
func (m *Maintenance) alarmsEnded(ctx context.Context, over []outbox.AlarmEvent) {
	for _, a := range over {
		a.Ended = true
		m.tell(ctx, a)
	}
}

func (m *Maintenance) tell(ctx context.Context, a outbox.AlarmEvent) {
	hooks.Call(ctx, m.ob.cfg.Logger, m.cfg.Hooks, func(h outbox.AlarmHook) { h.OnOutboxAlarm(ctx, a) })
}
