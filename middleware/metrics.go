package middleware

import (
	"context"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// HandleHook sees every message that a handler is through with.
type HandleHook interface {
	// OnMiddlewareHandle is called once a delivery, before the message is acknowledged.
	OnMiddlewareHandle(ctx context.Context, e HandleEvent)
}

// HandleEvent is a message that a handler is through with.
type HandleEvent struct {
	// Handler, Subscriber and Topic are the router's names, empty without one.
	Handler, Subscriber, Topic string
	// Attempt is the number of the delivery, 0 where it is not known.
	Attempt int
	// Took is how long all that stands inside took.
	Took time.Duration
	// Produced is the number of messages that are left for the router to publish.
	Produced int
	// Err is what was returned, nil as well where Panicked is set.
	Err error
	// Panicked is set if it panicked, or ended its goroutine.
	Panicked bool
}

// MetricsConfig tunes NewMetrics. Hooks are required.
type MetricsConfig struct {
	// Hooks observe the messages, by HandleHook. At least one is required.
	Hooks []outbox.Hook

	// Logger receives the panics of hooks. Defaults to slog.Default() as of NewMetrics,
	// warnings and errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

// NewMetrics returns a middleware that tells hooks of every message, panics included.
// What inboxes and stores do inside has hooks of its own (docs/hooks.md).
// It is safe for concurrent use. Errors wrap outbox.ErrInvalidConfig.
func NewMetrics(cfg MetricsConfig) (message.HandlerMiddleware, error) {
	if len(cfg.Hooks) == 0 {
		return nil, outbox.ConfigError("MetricsConfig.Hooks", "[]", "must not be empty")
	}
	if field, hook, reason := hooks.Refuse(cfg.Hooks, "middleware", hooks.Is[HandleHook]); reason != "" {
		return nil, outbox.ConfigError("MetricsConfig."+field, hook, reason)
	}
	cfg.Logger = logger.Or(cfg.Logger)
	return metrics{cfg}.middleware, nil
}

type metrics struct{ cfg MetricsConfig }

func (m metrics) middleware(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) (produced []*message.Message, err error) {
		ctx, began := msg.Context(), time.Now()
		panicked := true
		defer func() {
			attempt, _ := AttemptFrom(ctx)
			e := HandleEvent{
				Handler: message.HandlerNameFromCtx(ctx), Subscriber: message.SubscriberNameFromCtx(ctx),
				Topic: message.SubscribeTopicFromCtx(ctx), Attempt: attempt,
				Took: time.Since(began), Produced: len(produced), Err: err, Panicked: panicked,
			}
			hooks.Call(ctx, m.cfg.Logger, m.cfg.Hooks, func(h HandleHook) { h.OnMiddlewareHandle(ctx, e) })
		}()
		produced, err = h(msg)
		panicked = false
		return produced, err
	}
}
