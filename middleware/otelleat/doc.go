// Package otelleat exports leat's traces and metrics to OpenTelemetry. It uses only the API:
// readers, exporters and views belong to the providers that it is given.
//
// A Tracer creates spans, by two middlewares for Watermill's router and a hook of relays. The
// span of a delivery continues the trace of the message's producer: it is a child of the span
// that was current when the message was enqueued, and links to it. For that the outbox has an
// Injector, and the message the header traceparent. Between the two is the work of a relay:
// Tracer.Publishing creates a span for each attempt to publish, with the time that the record has
// waited in the outbox. It does not change the record.
//
// NewMetrics exports package metrics. Names are those of Prometheus with dots after the first two
// words, without unit and "_total"; three metrics follow OpenTelemetry's conventions for
// messaging instead; see docs/metrics.md.
//
// Stability: young, see docs/versions.md.
package otelleat
