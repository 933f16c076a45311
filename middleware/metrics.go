package middleware

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// Handled is a message that a handler is through with.
type Handled struct {
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
	// Panicked says that it panicked, or ended its goroutine.
	Panicked bool
}

// HandledHook sees every message. It is called on the goroutine of the message,
// so many at a time, and should return quickly.
type HandledHook interface {
	// OnHandled is called once a delivery, before the message is acknowledged.
	OnHandled(ctx context.Context, h Handled)
}

// MetricsConfig tunes NewMetrics. Hook is required.
type MetricsConfig struct {
	// Hook is told of every message. Required.
	Hook HandledHook
}

// NewMetrics returns a middleware that tells a hook of every message, panics included.
// What inboxes and stores do inside has hooks of its own (inbox.OutcomeHook, dedupe.Hook).
// It is safe for concurrent use. Errors wrap outbox.ErrInvalidConfig.
func NewMetrics(cfg MetricsConfig) (message.HandlerMiddleware, error) {
	if cfg.Hook == nil {
		return nil, outbox.ConfigError("MetricsConfig.Hook", nil, "is required")
	}
	return metrics{cfg}.middleware, nil
}

type metrics struct{ cfg MetricsConfig }

func (m metrics) middleware(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) (produced []*message.Message, err error) {
		ctx, began := msg.Context(), time.Now()
		panicked := true
		defer func() {
			attempt, _ := AttemptFrom(ctx)
			m.cfg.Hook.OnHandled(ctx, Handled{
				Handler: message.HandlerNameFromCtx(ctx), Subscriber: message.SubscriberNameFromCtx(ctx),
				Topic: message.SubscribeTopicFromCtx(ctx), Attempt: attempt,
				Took: time.Since(began), Produced: len(produced), Err: err, Panicked: panicked,
			})
		}()
		produced, err = h(msg)
		panicked = false
		return produced, err
	}
}
