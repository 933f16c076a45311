package otelleat

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/leat-go/leat/outbox"
)

// scope names what spans and metrics come from.
const scope = "github.com/leat-go/leat/middleware/otelleat"

// TracerConfig tunes a Tracer. The zero value is a good start.
type TracerConfig struct {
	// Propagator reads the producer's trace from the headers of a message.
	// Defaults to propagation.TraceContext, that of W3C.
	Propagator propagation.TextMapPropagator

	// NewTrace begins a trace of its own for each delivery, and for each attempt to
	// publish, that links to the producer's. Defaults to false: the producer's goes on, which with many
	// consumers, or a replay, becomes large.
	NewTrace bool
}

// Tracer makes spans of deliveries, by Middleware and Inside, and of what relays publish, by
// Publishing. It is safe for concurrent use.
type Tracer struct {
	tracer trace.Tracer
	cfg    TracerConfig
}

// NewTracer returns a Tracer that makes its spans by provider. Errors wrap
// outbox.ErrInvalidConfig.
func NewTracer(provider trace.TracerProvider, cfg TracerConfig) (*Tracer, error) {
	if provider == nil {
		return nil, outbox.ConfigError("provider", nil, "must not be nil")
	}
	if cfg.Propagator == nil {
		cfg.Propagator = propagation.TraceContext{}
	}
	return &Tracer{tracer: provider.Tracer(scope), cfg: cfg}, nil
}

// begin begins a span as a child of ctx's. The context that it returns carries it; end is
// called once.
func (t *Tracer) begin(ctx context.Context, name string, began time.Time, opts ...trace.SpanStartOption) (context.Context, func(at time.Time, err error)) {
	ctx, span := t.tracer.Start(ctx, name, append(opts, trace.WithTimestamp(began))...)
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
