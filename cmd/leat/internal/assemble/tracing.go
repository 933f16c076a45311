package assemble

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/middleware/otelleat"
)

// lastSpans bounds how long a daemon that ends waits for its last spans to be exported.
const lastSpans = 3 * time.Second

// tracing configures the export of the relays' spans to a collector.
func (b *builder) tracing() {
	o := b.in.Daemon.OTLP
	if o == nil {
		return
	}
	if !o.Endpoint.Set() {
		b.missing(o.At, "endpoint", "is required, such as http://127.0.0.1:4318")
		return
	}
	if err := checkCollector(o.Endpoint.Value); err != nil {
		b.wrong(o.Endpoint, err.Error())
		return
	}
	provider, err := newProvider(b.ctx, o, b.in.Logger)
	if err != nil {
		b.refused(o.At, o, err)
		return
	}
	b.made.closers = append(b.made.closers, closer(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), lastSpans)
		defer cancel()
		_ = provider.Shutdown(ctx)
	}))
	tracer, err := otelleat.NewTracer(provider, otelleat.TracerConfig{})
	if err != nil {
		b.refused(o.At, o, err)
		return
	}
	b.publishing = tracer.Publishing()
}

// checkCollector rejects anything but the URL of a collector that speaks OTLP over HTTP.
func checkCollector(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return fmt.Errorf("%q: must be the URL of a collector, such as http://127.0.0.1:4318", settings.Redact(endpoint))
	}
	return nil
}

// newProvider connects to nothing. The first export does.
func newProvider(ctx context.Context, o *settings.OTLP, logger *slog.Logger) (*sdktrace.TracerProvider, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(strings.TrimSuffix(o.Endpoint.Value, "/")+"/v1/traces"))
	if err != nil {
		return nil, err
	}
	// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES have precedence.
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "leat")), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	return sdktrace.NewTracerProvider(
		sdktrace.WithResource(about),
		sdktrace.WithBatcher(&toldExporter{SpanExporter: exporter, logger: logger, endpoint: o.Endpoint.Value}),
	), nil
}

// toldExporter logs when a collector becomes unavailable and when it is back, but not each failure. Spans
// that could not be exported are lost: relays do not wait for a collector.
type toldExporter struct {
	sdktrace.SpanExporter

	logger   *slog.Logger
	endpoint string
	out      atomic.Bool
}

// ExportSpans implements sdktrace.SpanExporter.
func (e *toldExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err != nil && !e.out.Swap(true):
		e.logger.WarnContext(ctx, "spans are lost until the collector takes them again", slog.String("otlp", e.endpoint), slog.Any("error", err))
	case err == nil && e.out.Swap(false):
		e.logger.InfoContext(ctx, "the collector takes spans again", slog.String("otlp", e.endpoint))
	}
	return nil
}
