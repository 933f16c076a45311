package webhook

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/hooks"
)

// RequestHook is called for each request.
type RequestHook interface {
	// OnWebhookRequest is called when a request was processed, just before it is answered.
	OnWebhookRequest(ctx context.Context, e RequestEvent)
}

// RequestEvent is a request and its outcome.
type RequestEvent struct {
	// ID is the event's id and Type its type, if it was verified.
	ID, Type string
	// Status is the status of the answer.
	Status int
	// Outcome is the outcome of the inbox, if it was asked.
	Outcome inbox.Outcome
	// Took is the time since the beginning of the request.
	Took time.Duration
	// Err is the reason if Status is not 200.
	Err error
}

// quiet is the least time between two log lines about unverified requests: anyone can send such
// requests.
const quiet = 10 * time.Second

func (h *handler) observe(ctx context.Context, began time.Time, e *RequestEvent) {
	e.Took = time.Since(began)
	h.log(ctx, e)
	hooks.Call(ctx, h.cfg.Logger, h.cfg.Hooks, func(hook RequestHook) { hook.OnWebhookRequest(ctx, *e) })
}

func (h *handler) log(ctx context.Context, e *RequestEvent) {
	switch {
	case e.Status == http.StatusOK, e.Status == http.StatusConflict:
		return
	case e.ID != "":
		h.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "webhook was not handled",
			slog.String("message_id", e.ID), slog.String("type", e.Type), slog.Int("status", e.Status), slog.Any("error", e.Err))
		return
	}
	refused := h.unverified.Add(1)
	now, last := int64(clocks.Passed()), h.logged.Load()
	if last != 0 && now-last < int64(quiet) || !h.logged.CompareAndSwap(last, now) {
		return
	}
	h.unverified.Add(-refused)
	h.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "request is not a verified webhook",
		slog.Int("status", e.Status), slog.Int64("requests", refused), slog.Any("error", e.Err))
}
