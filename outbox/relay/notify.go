package relay

import (
	"context"
	"log/slog"
	"time"

	"github.com/leat-go/leat/outbox"
)

func (r *Relay) onError(ctx context.Context, operation string, err error) {
	r.log.WarnContext(ctx, "relay operation failed", slog.String("operation", operation), slog.Any("error", err))
	r.hooking.Lock()
	defer r.hooking.Unlock()
	for _, h := range r.cfg.Hooks {
		if h, ok := h.(ErrorHook); ok {
			h.OnError(ctx, operation, err)
		}
	}
}

func (r *Relay) onLease(ctx context.Context, epoch int64, held bool, err error) {
	for _, h := range r.cfg.Hooks {
		if h, ok := h.(LeaseHook); ok {
			h.OnLease(ctx, epoch, held, err)
		}
	}
}

func (r *Relay) onPublish(ctx context.Context, records []outbox.Record, results []outbox.Result, took time.Duration) {
	for _, h := range r.cfg.Hooks {
		if h, ok := h.(PublishHook); ok {
			h.OnPublish(ctx, records, results, took)
		}
	}
}
