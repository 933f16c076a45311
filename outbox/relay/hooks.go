package relay

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// SendHook sees every answer of the sink. A hook that keeps no records should be a
// driver.Borrower: then a relay to Kafka drains with less memory.
type SendHook interface {
	// OnRelaySend is called after each call of the sink.
	OnRelaySend(ctx context.Context, e SendEvent)
}

// SendEvent is a call of the sink.
type SendEvent struct {
	// Records are the records passed to the sink, and Results its answers, in the same order.
	Records []outbox.Record
	Results []outbox.Result
	// Took is the duration of the call.
	Took time.Duration
}

// ReadHook sees every read of the log.
type ReadHook interface {
	// OnRelayRead is called after each call of driver.Session.Read, even if there was
	// nothing to read.
	OnRelayRead(ctx context.Context, e ReadEvent)
}

// ReadEvent is a read of the log.
type ReadEvent struct {
	// Slot is the slot's number, 0 if the source has none.
	Slot int
	// Records is the number of records that were read, Bytes the length of their payloads.
	Records, Bytes int
	// Early is set if they came before the position can pass them (driver.Tailed).
	Early bool
	// Took is the duration of the call.
	Took time.Duration
	// Err is its error: one that the relay survives (ErrorHook), driver.ErrSlotClosed, or a
	// consequence of the end of the lease.
	Err error
}

// LeaseHook sees leases come and go.
type LeaseHook interface {
	// OnRelayLease is called after a lease was acquired, and after it was released or
	// lost.
	OnRelayLease(ctx context.Context, e LeaseEvent)
}

// LeaseEvent is a lease that was acquired or has ended.
type LeaseEvent struct {
	// Slot is the slot's number, 0 if the source has none.
	Slot int
	// Epoch is the number of the lease.
	Epoch int64
	// Held is set if it was acquired.
	Held bool
	// Err is the reason why it was lost, nil if it was released.
	Err error
}

// ErrorHook sees every error that the relay survives.
type ErrorHook interface {
	// OnRelayError is called before the relay backs off.
	OnRelayError(ctx context.Context, e ErrorEvent)
}

// ErrorEvent is an error that the relay survives.
type ErrorEvent struct {
	// Operation is the operation that has failed: "check", "share", "acquire", "held_keys", "read", "send",
	// "check_topics", "advance", "hold", "due", "resolve", "renew", "release", "leave", "paused" or
	// "clock".
	Operation string
	// Err is its error.
	Err error
}

// HoldHook sees what happens to records that were not delivered at once.
type HoldHook interface {
	// OnRelayHold is called once per record, after its fate was stored.
	OnRelayHold(ctx context.Context, e HoldEvent)
}

// HoldEvent is a new fate of one record.
type HoldEvent struct {
	// Record is the record.
	Record *outbox.Record
	// Fate is the fate of the record.
	Fate driver.Fate
	// Attempts is the number of its deliveries that have failed since it was held
	// or redriven, these included.
	Attempts int
	// Reason is set if Fate is FatePark, FateDead or FateSkip.
	Reason string
	// Error is the text of the last failed delivery, if this relay has tried one.
	Error string
}

// BreakerHook sees destinations go out and come back.
type BreakerHook interface {
	// OnRelayBreaker is called when the breaker of a topic opens or closes, and after
	// each probe that failed.
	OnRelayBreaker(ctx context.Context, e BreakerEvent)
}

// BreakerEvent is a breaker that has changed.
type BreakerEvent struct{ BreakerState }

// BreakerState is the state of the breaker of one topic.
type BreakerState struct {
	// Topic is the destination.
	Topic string
	// Open is set if nothing is sent to it except an occasional probe.
	Open bool
	// Suspect is set if it was opened by failures of several keys that the sink
	// does not call an outage.
	Suspect bool
	// Unavailable is set if the destination answers and does not take records of the
	// topic (outbox.ErrTopicUnavailable).
	Unavailable bool
	// Since is when it opened or closed.
	Since time.Time
	// NextProbe is when a record is tried, if it is open.
	NextProbe time.Time
	// Err is the last failure, if it is open.
	Err error
}

// ProgressHook sees positions move.
type ProgressHook interface {
	// OnRelayProgress is called after records of the log were settled, about once per page.
	OnRelayProgress(ctx context.Context, e ProgressEvent)
}

// ProgressEvent is the progress made by one write.
type ProgressEvent struct {
	// Slot is the slot's number, 0 if the source has none.
	Slot int
	// Settled is the number of records, and Held how many of them were set aside.
	Settled, Held int
	// Age is the age of the oldest of them, by this machine's clock.
	Age time.Duration
	// In is the rate in records per second at which the latest records were enqueued, and Out
	// that at which they are settled now. While In is above Out, the outbox grows.
	In, Out float64
}

func (c Config) validateHooks() error {
	return hooks.Refuse(c.Hooks, "relay", hooks.Is[SendHook], hooks.Is[ReadHook], hooks.Is[LeaseHook], hooks.Is[ErrorHook],
		hooks.Is[HoldHook], hooks.Is[BreakerHook], hooks.Is[ProgressHook], hooks.Is[outbox.AlarmHook])
}

// notify calls f with each hook of the kind H. A relay calls one at a time.
func notify[H any](ctx context.Context, r *Relay, f func(h H)) {
	if len(r.cfg.Hooks) == 0 {
		return
	}
	r.hooking.Lock()
	defer r.hooking.Unlock()
	hooks.Call(ctx, r.log, r.cfg.Hooks, f)
}

func (r *Relay) onError(ctx context.Context, operation string, err error) {
	r.log.LogAttrs(ctx, slog.LevelWarn, operationFailed, slog.String("operation", operation), slog.Any("error", err))
	r.notifyError(ctx, operation, err)
}

const operationFailed = "relay operation failed"

// onFault is onError for an operation of the source. A lost lease counts as an answer.
func (r *Relay) onFault(ctx context.Context, operation string, err error) {
	if !errors.Is(err, driver.ErrLeaseLost) {
		r.watch.failed()
	}
	r.onError(ctx, operation, err)
}

// onAnswer records that the source works, and logs that if it did not before.
func (r *Relay) onAnswer(ctx context.Context) {
	since, errs := r.watch.answered()
	if errs > 0 {
		logger.Over(ctx, r.log, operationFailed, "source answers again",
			slog.Duration("lasted", time.Since(since).Round(time.Millisecond)), slog.Int("errors", errs))
	}
}

// notifyError is onError for an error that another log line shows already.
func (r *Relay) notifyError(ctx context.Context, operation string, err error) {
	notify(ctx, r, func(h ErrorHook) { h.OnRelayError(ctx, ErrorEvent{Operation: operation, Err: err}) })
}

func (r *Relay) onLease(ctx context.Context, s driver.Session, held bool, err error) {
	e := LeaseEvent{Slot: slotOf(s), Epoch: s.Epoch(), Held: held, Err: err}
	notify(ctx, r, func(h LeaseHook) { h.OnRelayLease(ctx, e) })
}

// slotOf returns the number of the session's slot, 0 if it has none.
func slotOf(s driver.Session) int {
	if slotted, ok := s.(driver.Slotted); ok {
		return slotted.Slot()
	}
	return 0
}

func (t *term) onRead(ctx context.Context, page driver.Page, began time.Time, err error) {
	if len(t.relay.cfg.Hooks) == 0 {
		return
	}
	e := ReadEvent{Slot: t.slot, Records: len(page.Records), Early: page.Early, Took: time.Since(began), Err: err}
	for i := range page.Records {
		e.Bytes += len(page.Records[i].Payload)
	}
	notify(ctx, t.relay, func(h ReadHook) { h.OnRelayRead(ctx, e) })
}

func (r *Relay) onPublish(ctx context.Context, records []outbox.Record, results []outbox.Result, took time.Duration) {
	notify(ctx, r, func(h SendHook) { h.OnRelaySend(ctx, SendEvent{Records: records, Results: results, Took: took}) })
}
