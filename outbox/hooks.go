package outbox

import (
	"context"
	"log/slog"
	"time"
)

// Hook observes a part of the library. It implements one or more of the interfaces called …Hook
// in the packages: each has one method, whose name is On, the package and the event, and which
// takes a context and the event. The names are all different, so one type can implement all of
// them and be passed to every Config that has Hooks; see docs/hooks.md. A constructor refuses a
// hook that implements none of its package's interfaces.
//
// Hooks are called on the goroutine that they observe, which waits for them; several calls may
// run at once. They must be safe for concurrent use, return quickly, and not call back into what
// they observe. Their arguments are valid during the call only, unless the event says otherwise,
// and must not be changed. A hook that panics is logged, and changes nothing else.
type Hook any

// EnqueueHook sees every call that enqueues in a transaction at once. It does not see statements
// that are only handed out, for a batch or for another library to run. It runs inside the
// business transaction.
type EnqueueHook interface {
	// OnOutboxEnqueue is called once after each call. The transaction has not committed yet and
	// may still roll back.
	OnOutboxEnqueue(ctx context.Context, e EnqueueEvent)
}

// EnqueueEvent is a call that has enqueued.
type EnqueueEvent struct {
	// Messages are the messages of the call, as they were stored; none if the call was refused.
	Messages []Message
	// Took is the duration of the call.
	Took time.Duration
	// Err is its error.
	Err error
}

// AlarmHook sees the alarms that need an operator's attention, from every part of the library.
type AlarmHook interface {
	// OnOutboxAlarm is called when an alarm is raised and when it has ended. A relay calls it
	// once while the cause lasts, maintenance in each round in which it lasts. Everything that is
	// passed to hooks is logged as well.
	OnOutboxAlarm(ctx context.Context, e AlarmEvent)
}

// AlarmKind is the kind of an alarm. Its constants are in the package that raises it.
type AlarmKind string

// AlarmEvent is an alarm that is raised, lasts or has ended.
type AlarmEvent struct {
	// Package is the name of the package that raises it: relay, pgoutbox, sqloutbox, pginbox, sqlinbox or
	// pgwatermark.
	Package string
	// Kind is the kind of the alarm.
	Kind AlarmKind
	// Topic, Group, Consumer and MessageID identify what the alarm is about; those that do not
	// apply are empty.
	Topic, Group, Consumer, MessageID string
	// Detail is for operators, and may be empty.
	Detail string
	// Attrs are further details, as they are logged. An alarm that has ended keeps Attrs, like
	// all other fields, from when it was last raised.
	Attrs []slog.Attr
	// Ended is set if the cause is gone, or if this process no longer looks for it: it has
	// stopped, or another process has taken over, which raises its own alarms. Alarms about a
	// single event have no end; the constants of the kinds name these.
	Ended bool
}
