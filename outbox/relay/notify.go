package relay

import (
	"context"
	"log/slog"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// notify calls f with each hook of the kind H, one at a time.
func notify[H any](r *Relay, f func(h H)) {
	if len(r.cfg.Hooks) == 0 {
		return
	}
	r.hooking.Lock()
	defer r.hooking.Unlock()
	for _, h := range r.cfg.Hooks {
		if h, ok := h.(H); ok {
			f(h)
		}
	}
}

func (r *Relay) onError(ctx context.Context, operation string, err error) {
	r.log.WarnContext(ctx, "relay operation failed", slog.String("operation", operation), slog.Any("error", err))
	notify(r, func(h ErrorHook) { h.OnError(ctx, operation, err) })
}

func (r *Relay) onLease(ctx context.Context, epoch int64, held bool, err error) {
	notify(r, func(h LeaseHook) { h.OnLease(ctx, epoch, held, err) })
}

func (r *Relay) onPublish(ctx context.Context, records []outbox.Record, results []outbox.Result, took time.Duration) {
	notify(r, func(h PublishHook) { h.OnPublish(ctx, records, results, took) })
}

func (r *Relay) onBreakers(ctx context.Context, states []BreakerState) {
	r.logBreakers(ctx, states)
	notify(r, func(h BreakerHook) {
		for _, s := range states {
			h.OnBreaker(ctx, s)
		}
	})
}

func (r *Relay) onHold(ctx context.Context, events []HoldEvent) {
	for i := range events {
		e := &events[i]
		switch e.Fate {
		case driver.FatePark, driver.FateDead, driver.FateSkip:
			r.log.WarnContext(ctx, "record is set aside", slog.String("fate", e.Fate.String()),
				slog.String("id", e.Record.ID), slog.Int64("seq", e.Record.Seq), slog.String("topic", e.Record.Topic),
				slog.Int("attempts", e.Attempts), slog.String("reason", e.Reason))
		default:
		}
		if e.Fate == driver.FatePark {
			r.alarm(ctx, Alarm{Kind: AlarmParked, Topic: e.Record.Topic, Detail: "record " + e.Record.ID + ": " + e.Reason})
		}
	}
	notify(r, func(h HoldHook) { h.OnHold(ctx, events) })
}

func (r *Relay) alarm(ctx context.Context, a Alarm) {
	r.log.ErrorContext(ctx, "alarm", slog.String("kind", string(a.Kind)), slog.String("topic", a.Topic), slog.String("detail", a.Detail))
	notify(r, func(h AlarmHook) { h.OnAlarm(ctx, a) })
}
