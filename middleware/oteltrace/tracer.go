package oteltrace

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

// scope names what the spans come from.
const scope = "github.com/leat-go/leat/middleware/oteltrace"

// Config tunes a Tracer. The zero value is a good start.
type Config struct {
	// Propagator reads the producer's trace from the headers of a message.
	// Defaults to propagation.TraceContext, that of W3C.
	Propagator propagation.TextMapPropagator

	// NewTrace begins a trace of its own for each delivery, and for each attempt to
	// publish, that links to the producer's. Defaults to false: the producer's goes on, which with many
	// consumers, or a replay, becomes large.
	NewTrace bool
}

// Tracer begins the spans of package middleware, and by Publishing those of relays. It is safe for concurrent use.
type Tracer struct {
	tracer trace.Tracer
	cfg    Config
}

var _ middleware.Tracer = (*Tracer)(nil)

// New returns a Tracer that makes its spans by provider. Errors wrap
// outbox.ErrInvalidConfig.
func New(provider trace.TracerProvider, cfg Config) (*Tracer, error) {
	if provider == nil {
		return nil, outbox.ConfigError("provider", nil, "must not be nil")
	}
	if cfg.Propagator == nil {
		cfg.Propagator = propagation.TraceContext{}
	}
	return &Tracer{tracer: provider.Tracer(scope), cfg: cfg}, nil
}

// Begin implements middleware.Tracer.
func (t *Tracer) Begin(ctx context.Context, s middleware.Span) (context.Context, func(at time.Time, err error)) {
	name, opts := string(s.Kind), []trace.SpanStartOption{trace.WithTimestamp(s.Began)}
	if s.Kind == middleware.SpanProcess {
		name = strings.TrimSuffix(name+" "+s.Topic, " ")
		opts = append(opts, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(attributes(s)...))
		var follow []trace.SpanStartOption
		ctx, follow = t.follow(ctx, s.Headers)
		opts = append(opts, follow...)
	}
	ctx, span := t.tracer.Start(ctx, name, opts...)
	return ctx, func(at time.Time, err error) {
		if err != nil {
			span.RecordError(err, trace.WithTimestamp(at))
			span.SetStatus(codes.Error, err.Error())
		}
		span.End(trace.WithTimestamp(at))
	}
}

// follow returns what a span needs that continues the trace in the headers of a message,
// or begins one that links to it; no options if there is none.
func (t *Tracer) follow(ctx context.Context, headers map[string]string) (context.Context, []trace.SpanStartOption) {
	remote := t.cfg.Propagator.Extract(context.WithoutCancel(ctx), carrier(headers))
	producer := trace.SpanContextFromContext(remote)
	if !producer.IsRemote() {
		return ctx, nil
	}
	opts := []trace.SpanStartOption{trace.WithLinks(trace.Link{SpanContext: producer})}
	if t.cfg.NewTrace {
		return ctx, append(opts, trace.WithNewRoot())
	}
	return trace.ContextWithRemoteSpanContext(ctx, producer), opts
}

// attributes are those of OpenTelemetry's conventions for messaging, where there
// are any.
func attributes(s middleware.Span) []attribute.KeyValue {
	kv := []attribute.KeyValue{attribute.String("messaging.operation.type", "process")}
	for _, a := range [...][2]string{
		{"messaging.message.id", s.MessageID},
		{"messaging.destination.name", s.Topic},
		{"messaging.consumer.handler", s.Handler},
	} {
		if a[1] != "" {
			kv = append(kv, attribute.String(a[0], a[1]))
		}
	}
	return kv
}

// carrier reads headers, and writes none.
type carrier map[string]string

var _ propagation.TextMapCarrier = carrier(nil)

// Get implements propagation.TextMapCarrier. Some brokers' adapters change the
// case of headers.
func (c carrier) Get(key string) string {
	if v, ok := c[key]; ok {
		return v
	}
	for k, v := range c {
		if strings.EqualFold(k, key) {
			return v
		}
	}
	return ""
}

// Set implements propagation.TextMapCarrier: it does nothing.
func (carrier) Set(string, string) {}

// Keys implements propagation.TextMapCarrier.
func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	return keys
}
