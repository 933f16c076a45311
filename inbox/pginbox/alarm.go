package pginbox

import (
	"context"
	"log/slog"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/outbox"
)

// The kinds of alarms. AlarmBusy and AlarmClock end; the others tell of a message, or of the
// configuration.
const (
	// AlarmTooOld is about a message that is older than what the inbox remembers;
	// the attribute policy is what happened to it.
	AlarmTooOld outbox.AlarmKind = "too_old"
	// AlarmTooNew is about a message that was refused, since its id is from the future.
	AlarmTooNew outbox.AlarmKind = "too_new"
	// AlarmRangeMissing is about a message whose range was not there and had to be made: maintenance does not run, or not soon enough, or old messages are replayed.
	AlarmRangeMissing outbox.AlarmKind = "range_missing"
	// AlarmBusy is about a lock that maintenance could not have, since transactions that use
	// the inbox stay open; it tries again in the next round.
	AlarmBusy outbox.AlarmKind = "busy"
	// AlarmClock is raised if the clocks of the database and of this process differ by more
	// than an hour, or if the database's has jumped. Nothing is forgotten until it is trusted again. It is
	// also raised if clocks that were wrong together have put the floor ahead of the database's.
	AlarmClock outbox.AlarmKind = "clock"
	// AlarmRetention is raised if the inbox remembers less than what can be redelivered.
	AlarmRetention outbox.AlarmKind = "retention"
)

func rangeAttr(r admin.RetentionRange) slog.Attr {
	return slog.Group("range", slog.String("table", r.Name), slog.Time("from", r.From), slog.Time("to", r.To))
}

// alarms tells an operator what they should see to.
type alarms struct {
	consumer string // its name
	log      *slog.Logger
	hooks    []outbox.Hook
}

func (to alarms) alarm(ctx context.Context, a outbox.AlarmEvent) {
	a.Consumer = to.consumer
	to.log.LogAttrs(ctx, slog.LevelWarn, "inbox alarm", logged(a)...)
	to.tell(ctx, a)
}

// logged are the attributes of an alarm in the log.
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
