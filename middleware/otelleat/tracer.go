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

// scope is the name of the instrumentation scope of spans and metrics.
const scope = "github.com/leat-go/leat/middleware/otelleat"

// TracerConfig tunes a Tracer. The zero value is a good start.
type TracerConfig struct {
	// Propagator reads the producer's trace from the headers of a message. Defaults to
	// propagation.TraceContext, the W3C format.
	Propagator propagation.TextMapPropagator

	// NewTrace begins a new trace for each delivery, and for each attempt to publish, with a link
	// to the producer's trace. Defaults to false: the producer's trace continues, and becomes
	// large with many consumers or a replay.
	NewTrace bool
}

// Tracer creates spans for deliveries, by Middleware and Inside, and for publishing by relays, by
// Publishing. It is safe for concurrent use.
type Tracer struct {
	tracer trace.Tracer
	cfg    TracerConfig
}

// NewTracer returns a Tracer that creates its spans by provider. Errors wrap
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

// begin begins a span as a child of the span in ctx. The returned context carries it; call end
// once.
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

// follow returns the context and the options for a span that continues the trace in the headers
// of a message, or begins a new one that links to it. There are no options if the headers have no
// trace.
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

// carrier is a read-only carrier on headers.
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
