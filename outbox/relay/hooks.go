package relay

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// Hook observes a relay. A hook implements any of the On… interfaces of this
// package; New refuses one that implements none. Hooks are called from the
// relay's goroutines, one at a time, and should return quickly.
type Hook any

// PublishHook sees every answer of the sink.
type PublishHook interface {
	// OnPublish is called after each Send with its records and results and the
	// time it took. Records are valid during the call only.
	OnPublish(ctx context.Context, records []outbox.Record, results []outbox.Result, took time.Duration)
}

// LeaseHook sees the lease come and go.
type LeaseHook interface {
	// OnLease is called with held true after the lease was acquired, and with
	// held false after it was released or lost (err tells why, nil for a release).
	OnLease(ctx context.Context, epoch int64, held bool, err error)
}

// ErrorHook sees every error that the relay survives.
type ErrorHook interface {
	// OnError is called with the operation ("check", "share", "acquire",
	// "held_keys", "read", "send", "check_topics", "advance", "hold", "due", "resolve",
	// "renew", "release", "leave") and its error, before the relay backs off.
	OnError(ctx context.Context, operation string, err error)
}

// HoldHook sees what becomes of records that were not delivered at once.
type HoldHook interface {
	// OnHold is called after it was stored, once a write. Events are valid during
	// the call only.
	OnHold(ctx context.Context, events []HoldEvent)
}

// HoldEvent is a new fate of one record.
type HoldEvent struct {
	// Record is the record.
	Record *outbox.Record
	// Fate is what became of it.
	Fate driver.Fate
	// Attempts is the number of its deliveries that have failed since it was held
	// or redriven, these included.
	Attempts int
	// Reason is set where Fate is FatePark, FateDead or FateSkip.
	Reason string
}

// BreakerHook sees destinations go out and come back.
type BreakerHook interface {
	// OnBreaker is called when the breaker of a topic opens or closes, and after
	// each probe that failed.
	OnBreaker(ctx context.Context, state BreakerState)
}

// BreakerState is that of one topic.
type BreakerState struct {
	// Topic is the destination.
	Topic string
	// Open says that nothing is sent to it but a probe now and then.
	Open bool
	// Suspect says that it was opened by failures of several keys that the sink
	// does not call an outage.
	Suspect bool
	// Unavailable reports that the destination answers and does not take records of the
	// topic (outbox.ErrTopicUnavailable).
	Unavailable bool
	// Since is when it opened or closed.
	Since time.Time
	// NextProbe is when a record is tried, where it is open.
	NextProbe time.Time
	// Err is the last failure, where it is open.
	Err error
}

// ProgressHook sees positions move.
type ProgressHook interface {
	// OnProgress is called after records of the log were settled, about once a page.
	OnProgress(ctx context.Context, p Progress)
}

// Progress is what was settled by one write.
type Progress struct {
	// Slot is the slot's number, 0 where the source has none.
	Slot int
	// Settled is the number of records, and Held how many of them were set aside.
	Settled, Held int
	// Age is the age of the oldest of them, by this machine's clock.
	Age time.Duration
	// In is the rate in records a second at which the records of late were
	// enqueued, and Out that at which they are settled now. While In is above
	// Out, the outbox grows.
	In, Out float64
}

// AlarmHook sees what an operator should look at.
type AlarmHook interface {
	// OnAlarm is called when an alarm is raised. It is not repeated while its
	// cause lasts, but for AlarmParked.
	OnAlarm(ctx context.Context, a Alarm)
}

// Alarm is something that an operator should look at.
type Alarm struct {
	// Kind says what.
	Kind AlarmKind
	// Topic is the topic that it is about, if it is about one.
	Topic string
	// Detail is for operators.
	Detail string
}

// AlarmKind is the kind of an Alarm.
type AlarmKind string

// The kinds of alarms.
const (
	// AlarmParked says that records were parked: they wait for an operator.
	AlarmParked AlarmKind = "parked"
	// AlarmHeldCap says that Config.MaxHeld is reached: the relay stops at its page.
	AlarmHeldCap AlarmKind = "held_cap"
	// AlarmUnavailable is raised if the destination does not take records of one topic or
	// more: create them, or allow the relay to write to them. It is raised once, however
	// many topics there are, and ends when there is none any more.
	AlarmUnavailable AlarmKind = "topics_unavailable"
	// AlarmErrorRate says that of the deliveries of the last minute more than a
	// half have failed.
	AlarmErrorRate AlarmKind = "error_rate"
	// AlarmStuck says that a record is older than Config.SLO although its
	// destination is up.
	AlarmStuck AlarmKind = "stuck"
	// AlarmLag says that a record is older than Config.SLO, since its destination is
	// out or since the relay is behind.
	AlarmLag AlarmKind = "lag"
	// AlarmSourceUnusable is raised when Run ends since the source is unusable. Nothing
	// is relayed until an operator has seen to it.
	AlarmSourceUnusable AlarmKind = "source_unusable"
)
