package outbox

import (
	"context"
	"log/slog"
	"time"
)

// Hook observes a part of the library. It implements one or more of the interfaces
// called …Hook in the packages: each has one method, called On, the package, and what
// has happened, which takes a context and an event. No two of them have the same name,
// so one type can implement all of them, and be given to every Config that has Hooks;
// see docs/hooks.md. A constructor refuses a hook that implements none of its own.
//
// Hooks are called on the goroutine that they observe, so many at a time, and it waits
// for them: they must be safe for concurrent use, return quickly, and not call back what
// they observe. What they are given is valid during the call only, unless the event says
// otherwise, and must not be changed. A hook that panics is logged, and changes nothing
// else.
type Hook any

// EnqueueHook sees every call that enqueues in a transaction at once; statements
// that are only handed out, for a batch or for another library to run, it does not
// see. It runs inside the business transaction.
type EnqueueHook interface {
	// OnOutboxEnqueue is called once a call, after it. The transaction has not committed
	// yet and may still roll back.
	OnOutboxEnqueue(ctx context.Context, e EnqueueEvent)
}

// EnqueueEvent is a call that has enqueued.
type EnqueueEvent struct {
	// Messages are those of the call, as they were stored; none where it was refused.
	Messages []Message
	// Took is the time that the call took.
	Took time.Duration
	// Err is its error.
	Err error
}

// AlarmHook sees what an operator should see to, whichever part of the library raises it.
type AlarmHook interface {
	// OnOutboxAlarm is called when an alarm is raised and when it has ended. A relay calls it
	// once while the cause lasts, maintenance in each round in which it lasts. Everything that
	// hooks are told is logged as well.
	OnOutboxAlarm(ctx context.Context, e AlarmEvent)
}

// AlarmKind is what an alarm is about. The package that raises it has the constants.
type AlarmKind string

// AlarmEvent is an alarm that is raised, lasts or has ended.
type AlarmEvent struct {
	// Package is the name of the package that raises it: relay, pgoutbox, sqloutbox, pginbox, sqlinbox or
	// pgwatermark.
	Package string
	// Kind is what it is about.
	Kind AlarmKind
	// Topic, Group, Consumer and MessageID are what it is about, each empty if it is not
	// about one.
	Topic, Group, Consumer, MessageID string
	// Detail is for operators, and may be empty.
	Detail string
	// Attrs are what else is known, as it is logged. One that has ended has them as they were
	// when it was raised last, as all other fields.
	Attrs []slog.Attr
	// Ended is set if the cause is gone, or if this process does not look any more: it has
	// stopped, or another one works, which raises alarms of its own. Alarms about something
	// that has happened have no end; the constants of the kinds tell which these are.
	Ended bool
}
