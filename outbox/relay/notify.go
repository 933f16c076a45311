package relay

import (
	"context"
	"log/slog"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

func (r *Relay) onBreakers(ctx context.Context, states []BreakerState) {
	notify(ctx, r, func(h BreakerHook) {
		for _, s := range states {
			h.OnRelayBreaker(ctx, BreakerEvent{s})
		}
	})
}

func (r *Relay) onHold(ctx context.Context, events []HoldEvent) {
	for i := range events {
		e := &events[i]
		switch e.Fate {
		case driver.FatePark:
			r.logAside(ctx, slog.LevelError, e)
			r.notifyAlarm(ctx, outbox.AlarmEvent{Kind: AlarmParked, Topic: e.Record.Topic, Detail: "record " + e.Record.ID + ": " + e.Reason + ": " + e.Error})
		case driver.FateDead, driver.FateSkip:
			r.logAside(ctx, slog.LevelWarn, e)
		default:
		}
	}
	notify(ctx, r, func(h HoldHook) {
		for _, e := range events {
			h.OnRelayHold(ctx, e)
		}
	})
}

// logAside logs that a record was given up, or waits for an operator.
func (r *Relay) logAside(ctx context.Context, level slog.Level, e *HoldEvent) {
	r.log.LogAttrs(ctx, level, "record is set aside", slog.String("fate", e.Fate.String()),
		slog.String("message_id", e.Record.ID), slog.Int64("seq", e.Record.Seq), slog.String("topic", e.Record.Topic),
		slog.Int("attempts", e.Attempts), slog.String("reason", e.Reason), slog.String("error", e.Error))
}
