package otelleat

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// errPanicked is the error on the spans of a handler that panicked.
var errPanicked = errors.New("handler panicked")

// delivery carries data from Inside to the Middleware around it.
type delivery struct {
	began  time.Time
	inside bool // Inside was reached, and ended at:
	over   time.Time
}

type deliveryKey struct{}

// Middleware creates a span for each delivery, in the trace of the message's producer. Add it
// just outside of middleware.NewInbox's, so that each try has its own span.
func (t *Tracer) Middleware(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) (produced []*message.Message, err error) {
		orig := msg.Context()
		d := &delivery{began: time.Now()}
		ctx, follow := t.follow(orig, msg.Metadata)
		topic := message.SubscribeTopicFromCtx(orig)
		ctx, end := t.begin(ctx, strings.TrimSuffix("process "+topic, " "), d.began, append(follow,
			trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(attributes(msg, topic)...))...)
		msg.SetContext(context.WithValue(ctx, deliveryKey{}, d))
		cause := errPanicked
		defer func() {
			now := time.Now()
			if d.inside {
				t.past(ctx, "commit", d.over, now, cause)
			}
			end(now, cause)
			msg.SetContext(orig) // middlewares outside are not in the span
		}()
		produced, err = h(msg)
		cause = err
		return produced, err
	}
}

// Inside splits the span of a delivery into claim, handle and commit. Add it just inside of
// middleware.NewInbox's. Without Middleware outside, it does nothing.
func (t *Tracer) Inside(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) (produced []*message.Message, err error) {
		orig := msg.Context()
		d, ok := orig.Value(deliveryKey{}).(*delivery)
		if !ok {
			return h(msg)
		}
		now := time.Now()
		t.past(orig, "claim", d.began, now, nil)
		ctx, end := t.begin(orig, "handle", now)
		msg.SetContext(ctx)
		cause := errPanicked
		defer func() {
			d.inside, d.over = true, time.Now()
			end(d.over, cause)
			msg.SetContext(orig)
		}()
		produced, err = h(msg)
		cause = err
		return produced, err
	}
}

// past creates a span that has ended.
func (t *Tracer) past(ctx context.Context, name string, began, over time.Time, err error) {
	_, end := t.begin(ctx, name, began)
	end(over, err)
}

// attributes returns the attributes of OpenTelemetry's conventions for messaging that apply.
func attributes(msg *message.Message, topic string) []attribute.KeyValue {
	kv := []attribute.KeyValue{attribute.String("messaging.operation.type", "process")}
	for _, a := range [...][2]string{
		{"messaging.message.id", msg.UUID},
		{"messaging.destination.name", topic},
		{"messaging.consumer.handler", message.HandlerNameFromCtx(msg.Context())},
	} {
		if a[1] != "" {
			kv = append(kv, attribute.String(a[0], a[1]))
		}
	}
	return kv
}
