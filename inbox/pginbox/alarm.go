package pginbox

import (
	"context"
	"log/slog"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/outbox"
)

// The kinds of alarms. AlarmBusy and AlarmClock end; the others are about a message, or about the
// configuration.
const (
	// AlarmTooOld is about a message that is older than what the inbox remembers; the attribute
	// policy shows what happened to it.
	AlarmTooOld outbox.AlarmKind = "too_old"
	// AlarmTooNew is about a message that was refused because its id is from the future.
	AlarmTooNew outbox.AlarmKind = "too_new"
	// AlarmRangeMissing is about a message whose range was missing and had to be created:
	// maintenance does not run, or runs too late, or old messages are replayed.
	AlarmRangeMissing outbox.AlarmKind = "range_missing"
	// AlarmBusy is about a lock that maintenance could not get, because transactions that use the
	// inbox stay open; it tries again in the next round.
	AlarmBusy outbox.AlarmKind = "busy"
	// AlarmClock is raised if the clocks of the database and of this process differ by more than an hour,
	// or if the clock of the database has jumped. Nothing is forgotten until the clock is trusted again. It
	// is also raised if the floor is ahead of the database's clock, because both clocks were wrong
	// together.
	AlarmClock outbox.AlarmKind = "clock"
	// AlarmRetention is raised if messages can be redelivered for longer than the inbox remembers
	// them.
	AlarmRetention outbox.AlarmKind = "retention"
)

func rangeAttr(r admin.RetentionRange) slog.Attr {
	return slog.Group("range", slog.String("table", r.Name), slog.Time("from", r.From), slog.Time("to", r.To))
}

// alarms logs problems for an operator and reports them to hooks.
type alarms struct {
	consumer string // name of the consumer
	log      *slog.Logger
	hooks    []outbox.Hook
}

func (to alarms) alarm(ctx context.Context, a outbox.AlarmEvent) {
	a.Package, a.Consumer = "pginbox", to.consumer
	to.log.LogAttrs(ctx, slog.LevelWarn, "inbox alarm", logged(a)...)
	hooks.Call(ctx, to.log, to.hooks, func(h outbox.AlarmHook) { h.OnOutboxAlarm(ctx, a) })
}

// logged returns the attributes of an alarm in the log.
func logged(a outbox.AlarmEvent) []slog.Attr {
	attrs := []slog.Attr{slog.String("kind", string(a.Kind))}
	if a.MessageID != "" {
		attrs = append(attrs, slog.String("consumer", a.Consumer), slog.String("message_id", a.MessageID))
	}
	attrs = append(attrs, a.Attrs...)
	if a.Detail != "" {
		attrs = append(attrs, slog.String("error", a.Detail))
	}
	return attrs
}
