package metrics

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// Maintenance observes the maintenance of an outbox or an inbox: give it to the Hooks of a
// MaintenanceConfig, and that of an inbox also to those of pginbox.Config and pgwatermark.Config,
// whose alarms it counts. It is safe for concurrent use.
type Maintenance struct {
	ok, failed Counter
	last       atomic.Pointer[time.Time]
	alarms     *alarms
	momentary  bool // most kinds of alarms have no end
}

var (
	_ admin.MaintenanceHook = (*Maintenance)(nil)
	_ outbox.AlarmHook      = (*Maintenance)(nil)
)

// outboxKinds and inboxKinds are the kinds of alarms that are shown from the start, and
// lastingKinds those of an inbox that have an end. A test compares them with the constants of the
// packages, which this one does not import.
func outboxKinds() []string {
	return []string{"history_pinned", "lag", "lag_exceeded", "tail_in_use", "position_unusable", "busy", "clock"}
}

func inboxKinds() []string {
	return []string{"too_old", "too_new", "range_missing", "busy", "clock", "retention", "new_source", "beyond_end", "missing"}
}

func lastingKind(kind outbox.AlarmKind) bool { return kind == "busy" || kind == "clock" }

// Maintenance returns an observer of the outbox's maintenance.
func (o *Outbox) Maintenance() *Maintenance {
	return o.m.maintenance(o.name, maintenanceRows{outboxRounds, outboxLastRound, outboxAlarms, outboxAlarmActive}, outboxKinds())
}

// InboxMaintenance returns an observer of the maintenance of an inbox's tables, with a name of
// your choice, which is the label "inbox": use the same name as a Sampler of these tables.
// Consumers observes the deliveries. Errors wrap outbox.ErrInvalidConfig.
func (m *Metrics) InboxMaintenance(inbox string) (*Maintenance, error) {
	if err := validName("inbox", inbox); err != nil {
		return nil, err
	}
	w := m.maintenance(inbox, maintenanceRows{inboxRounds, inboxLastRound, inboxAlarms, -1}, inboxKinds())
	w.momentary = true
	return w, nil
}

type maintenanceRows struct{ rounds, last, raised, active id }

func (m *Metrics) maintenance(name string, rows maintenanceRows, kinds []string) *Maintenance {
	w := &Maintenance{
		ok: m.counter(rows.rounds, name, "ok"), failed: m.counter(rows.rounds, name, "failed"),
		alarms: &alarms{active: map[string]map[string]struct{}{}},
	}
	w.alarms.raised = newSeries(m.kinds, func(kind string) Counter { return m.counter(rows.raised, name, kind) }, kinds...)
	m.show(func(show func(reading)) {
		var last time.Time
		if at := w.last.Load(); at != nil {
			last = *at
		}
		show(reading{rows.last, [3]string{name}, unix(last)})
		if rows.active >= 0 {
			w.alarms.kinds(rows.active, name, show)
		}
	})
	return w
}

// OnAdminMaintenance implements admin.MaintenanceHook. Delayed messages that were moved between
// two rounds do not count as a round.
func (w *Maintenance) OnAdminMaintenance(ctx context.Context, e admin.MaintenanceEvent) {
	switch {
	case e.Err != nil && ctx.Err() != nil: // it was stopped
	case e.Err != nil:
		w.failed.Add(1)
	default:
		w.ok.Add(1)
		if !e.Between {
			now := time.Now()
			w.last.Store(&now)
		}
	}
}

// OnOutboxAlarm implements outbox.AlarmHook. An alarm counts once while it lasts.
func (w *Maintenance) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) {
	w.alarms.note(string(e.Kind), e.Group, !w.momentary || lastingKind(e.Kind), e.Ended)
}
