package pgoutbox

import (
	"context"
	"time"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/outbox"
)

// MaintenanceHook sees what maintenance does.
type MaintenanceHook interface {
	// OnPgoutboxMaintenance is called after each round of a Maintenance, and whenever
	// delayed messages were moved into the log, which goes on apart from the rounds. While
	// another process works there are no rounds.
	OnPgoutboxMaintenance(ctx context.Context, e MaintenanceEvent)
}

// MaintenanceEvent is a round that has ended.
type MaintenanceEvent struct {
	// Report is what was done; after an error, what was done before it. Between the rounds
	// it has Promoted alone.
	Report MaintenanceReport
	// Took is the time that it took.
	Took time.Duration
	// Err is what could not be done, nil if nothing; that of ctx if Run was stopped.
	Err error
}

// refuseStrangers returns an error if one of all is of none of kinds.
func refuseStrangers(all []outbox.Hook, pkg string, kinds ...func(hook any) bool) error {
	if field, hook, reason := hooks.Refuse(all, pkg, kinds...); reason != "" {
		return outbox.ConfigError(field, hook, reason)
	}
	return nil
}

func (o *Outbox) observe(ctx context.Context, e outbox.EnqueueEvent) {
	hooks.Call(ctx, o.cfg.Logger, o.cfg.Hooks, func(h outbox.EnqueueHook) { h.OnOutboxEnqueue(ctx, e) })
}

func (m *Maintenance) observe(ctx context.Context, began time.Time, report MaintenanceReport, err error) {
	e := MaintenanceEvent{Report: report, Took: time.Since(began), Err: err}
	hooks.Call(ctx, m.log, m.cfg.Hooks, func(h MaintenanceHook) { h.OnPgoutboxMaintenance(ctx, e) })
}

// promote moves what is due into the log, and tells the hooks if there was anything.
func (m *Maintenance) promote(ctx context.Context) (moved int64, stayed bool, err error) {
	began := time.Now()
	moved, stayed, err = m.ob.promote(ctx)
	m.timing.done(ctx, MaintenanceReport{Promoted: moved}, err)
	if moved > 0 || err != nil {
		m.observe(ctx, began, MaintenanceReport{Promoted: moved}, err)
	}
	return moved, stayed, err
}

func (m *Maintenance) tell(ctx context.Context, e outbox.AlarmEvent) {
	hooks.Call(ctx, m.log, m.cfg.Hooks, func(h outbox.AlarmHook) { h.OnOutboxAlarm(ctx, e) })
}

// alarmsEnded tells of alarms that are over.
func (m *Maintenance) alarmsEnded(ctx context.Context, over []outbox.AlarmEvent) {
	for _, a := range over {
		a.Ended = true
		m.tell(ctx, a)
	}
}

// alarmKey tells alarms apart.
func alarmKey(a outbox.AlarmEvent) string { return string(a.Kind) + "/" + a.Group }
