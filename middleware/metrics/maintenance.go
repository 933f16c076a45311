package metrics

import (
	"sync/atomic"
	"time"
)

// Maintenance observes what keeps the tables of an outbox or an inbox in shape. Packages
// such as pgmetrics tell it of their hooks' events. It is safe for concurrent use.
type Maintenance struct {
	ok, failed Counter
	last       atomic.Pointer[time.Time]
	alarms     *alarms
}

// Maintenance returns an observer of the outbox's maintenance. kinds are the kinds of alarms
// that are known, to be shown from the start.
func (o *Outbox) Maintenance(kinds ...string) *Maintenance {
	return o.m.maintenance(o.name, maintenanceRows{outboxRounds, outboxLastRound, outboxAlarms, outboxAlarmActive}, kinds)
}

// InboxMaintenance returns an observer of the maintenance of an inbox's tables, with a name of
// your choice, which is the label "inbox". kinds are the kinds of alarms that are known, to
// be shown from the start. Errors wrap outbox.ErrInvalidConfig.
func (m *Metrics) InboxMaintenance(inbox string, kinds ...string) (*Maintenance, error) {
	if err := validName("inbox", inbox); err != nil {
		return nil, err
	}
	return m.maintenance(inbox, maintenanceRows{inboxRounds, inboxLastRound, inboxAlarms, -1}, kinds), nil
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

// Round counts a round that has just ended, with its error.
func (w *Maintenance) Round(err error) {
	if err != nil {
		w.failed.Add(1)
		return
	}
	w.ok.Add(1)
	now := time.Now()
	w.last.Store(&now)
}

// Promoted counts delayed messages that were moved between two rounds: it is a round that
// does not say that maintenance works.
func (w *Maintenance) Promoted(err error) {
	if err != nil {
		w.failed.Add(1)
		return
	}
	w.ok.Add(1)
}

// Alarm notes an alarm that is raised, lasts or has ended. about tells it from others of its
// kind. It counts once while it lasts.
func (w *Maintenance) Alarm(kind, about string, ended bool) { w.alarms.note(kind, about, true, ended) }

// Event counts an alarm that has no end.
func (w *Maintenance) Event(kind string) { w.alarms.note(kind, "", false, false) }
