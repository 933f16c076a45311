package pginbox

import (
	"context"
	"log/slog"
	"time"

	"github.com/leat-go/leat/outbox"
)

// AlarmKind is what an Alarm is about.
type AlarmKind string

const (
	// AlarmTooOld is about a message that is older than what the inbox remembers;
	// Policy is what became of it.
	AlarmTooOld AlarmKind = "too_old"
	// AlarmTooNew is about a message that was refused, since its id is from the future.
	AlarmTooNew AlarmKind = "too_new"
	// AlarmRangeMissing is about a message whose range was not there and had to be made: maintenance does not run, or not soon enough, or old messages are replayed.
	AlarmRangeMissing AlarmKind = "range_missing"
	// AlarmBusy is about a lock that maintenance could not have, since transactions that use
	// the inbox stay open; it tries again in the next round.
	AlarmBusy AlarmKind = "busy"
	// AlarmClock is raised if the clocks of the database and of this process differ by more
	// than an hour, so that nothing is forgotten until they agree.
	AlarmClock AlarmKind = "clock"
	// AlarmRetention is raised if the inbox remembers less than what can be redelivered.
	AlarmRetention AlarmKind = "retention"
)

// Alarm is something that an operator should see to.
type Alarm struct {
	// Kind is what it is about.
	Kind AlarmKind
	// Consumer and ID are the message that it is about, empty if it is about none.
	Consumer, ID string
	// Policy is what was done with a message that is too old.
	Policy TooOldPolicy
	// Range is the range that it is about, if it is about one.
	Range Range
	// Err says more, if there is more to say.
	Err error
}

// Range is a part of the inbox that is made and forgotten as a whole.
type Range struct {
	// Table is the name of its table, without the schema.
	Table string
	// From is the time of the first id in it, To that of the first one past it.
	From, To time.Time
}

func (r Range) attr() slog.Attr {
	return slog.Group("range", slog.String("table", r.Table), slog.Time("from", r.From), slog.Time("to", r.To))
}

// alarms tells an operator what they should see to.
type alarms struct {
	consumer string // its name
	log      *slog.Logger
	hooks    []outbox.Hook
}

func (to alarms) alarm(ctx context.Context, a Alarm) {
	a.Consumer = to.consumer
	to.log.LogAttrs(ctx, slog.LevelWarn, "inbox alarm", a.attrs()...)
	to.tell(ctx, AlarmEvent{Alarm: a})
}

func (a Alarm) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("kind", string(a.Kind))}
	if a.ID != "" {
		attrs = append(attrs, slog.String("consumer", a.Consumer), slog.String("message_id", a.ID))
	}
	if a.Policy != "" {
		attrs = append(attrs, slog.String("policy", string(a.Policy)))
	}
	if a.Range.Table != "" {
		attrs = append(attrs, a.Range.attr())
	}
	if a.Err != nil {
		attrs = append(attrs, slog.Any("error", a.Err))
	}
	return attrs
}
