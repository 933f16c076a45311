package relay

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// The kinds of alarms. AlarmParked and AlarmSourceUnusable have no end: they report an event, and
// AlarmParked is raised for each record. The others are raised once while their cause lasts.
const (
	// AlarmParked is raised if records were parked: they wait for an operator.
	AlarmParked outbox.AlarmKind = "parked"
	// AlarmHeldCap is raised if a slot has reached Config.MaxHeld: it stops at its page.
	AlarmHeldCap outbox.AlarmKind = "held_cap"
	// AlarmUnavailable is raised if the destination does not take records of one topic or more:
	// create them, or allow the relay to write to them. It is raised once, however many topics
	// there are, and ends when there are none left.
	AlarmUnavailable outbox.AlarmKind = "topics_unavailable"
	// AlarmErrorRate is raised if more than half of the deliveries of the last minute
	// have failed.
	AlarmErrorRate outbox.AlarmKind = "error_rate"
	// AlarmStuck is raised if a record is older than Config.SLO although its destination is up,
	// or if a slot is stuck at a page: for a minute the source grants leases, and each of them
	// ends because the page cannot be read or stored.
	AlarmStuck outbox.AlarmKind = "stuck"
	// AlarmLag is raised if a record is older than Config.SLO, since its destination is
	// out or since the relay is behind.
	AlarmLag outbox.AlarmKind = "lag"
	// AlarmServerChanged is raised by a relay that leads, if the group was relayed on another
	// server before: PostgreSQL was promoted or recovered, or MySQL or MariaDB has failed over.
	// Make sure that nothing writes to the former server. It ends an hour after a relay has first
	// noticed the change, since a database does not know whether another one still runs.
	AlarmServerChanged outbox.AlarmKind = "server_changed"
	// AlarmSourceUnusable is raised when Run ends since the source is unusable. Nothing is
	// relayed until an operator has fixed it.
	AlarmSourceUnusable outbox.AlarmKind = "source_unusable"
)

func (r *Relay) alarm(ctx context.Context, a outbox.AlarmEvent) {
	r.log.ErrorContext(ctx, "alarm", slog.String("kind", string(a.Kind)), slog.String("topic", a.Topic), slog.String("detail", a.Detail))
	r.notifyAlarm(ctx, a)
}

func (r *Relay) notifyAlarm(ctx context.Context, a outbox.AlarmEvent) {
	a.Package = "relay"
	notify(ctx, r, func(h outbox.AlarmHook) { h.OnOutboxAlarm(ctx, a) })
}

func (r *Relay) alarmEnded(ctx context.Context, a outbox.AlarmEvent, since time.Time) {
	logger.Over(ctx, r.log, "alarm", "alarm has ended", slog.String("kind", string(a.Kind)), slog.String("topic", a.Topic),
		slog.Duration("lasted", time.Since(since).Round(time.Second)))
	a.Ended = true
	r.notifyAlarm(ctx, a)
}

// standing identifies an alarm whose cause lasts: there is one per kind, except that
// AlarmBlocked, AlarmHeldCap and the AlarmStuck for a page are per slot.
type standing struct {
	kind outbox.AlarmKind
	slot int
	page bool
}

// set raises a, or clears it if on is false.
func (w *watch) set(ctx context.Context, r *Relay, on bool, a outbox.AlarmEvent) {
	if on {
		w.raise(ctx, r, standing{kind: a.Kind}, a)
	} else {
		w.clear(standing{kind: a.Kind})
	}
}

// raise raises an alarm, unless one like it was raised before and its cause lasts.
func (w *watch) raise(ctx context.Context, r *Relay, as standing, a outbox.AlarmEvent) {
	w.telling.Lock()
	defer w.telling.Unlock()
	if _, before := w.raised[as]; before {
		return
	}
	if w.raised == nil {
		w.raised = make(map[standing]func())
	}
	since := time.Now()
	w.raised[as] = func() {
		w.show(as, nil)
		r.alarmEnded(context.WithoutCancel(ctx), a, since)
	}
	w.show(as, &AlarmState{Kind: a.Kind, Topic: a.Topic, Detail: a.Detail, Since: since})
	r.alarm(ctx, a)
}

// show makes State show an alarm, or remove it if it is nil.
func (w *watch) show(as standing, a *AlarmState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a == nil {
		delete(w.shown, as)
		return
	}
	if w.shown == nil {
		w.shown = make(map[standing]AlarmState)
	}
	w.shown[as] = *a
}

// clear records that the cause of an alarm is gone.
func (w *watch) clear(as standing) {
	w.telling.Lock()
	defer w.telling.Unlock()
	if end, ok := w.raised[as]; ok {
		delete(w.raised, as)
		end()
	}
}

// clearAll clears all alarms, since this relay no longer looks. If it stands by, it keeps the
// alarm of a page at which it was stuck: it may lead the next term again.
func (w *watch) clearAll(standby bool) {
	w.telling.Lock()
	defer w.telling.Unlock()
	inOrder := func(a, b standing) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.slot, b.slot)) }
	for _, as := range slices.SortedFunc(maps.Keys(w.raised), inOrder) {
		if standby && as.page {
			continue
		}
		end := w.raised[as]
		delete(w.raised, as)
		end()
	}
}
