// Package otelleat shows in OpenTelemetry what leat does. It uses the API only: readers, exporters
// and views are those of the providers that it is given.
//
// A Tracer makes traces: two middlewares for Watermill's router, and a hook of relays. The span
// of a delivery continues the trace of the message's producer: it is a child of the span that was
// current when the message was enqueued, and links to it. For that the outbox has an Injector, and
// the message the header traceparent. Between the two stands what a relay does:
// Tracer.Publishing makes a span of each attempt to publish, with the time that the record has
// waited in the outbox. It changes nothing of the record.
//
// NewMetrics shows package metrics. Names are those of Prometheus with dots after the first two
// words, without unit and "_total", and three of OpenTelemetry's conventions for messaging; see
// docs/metrics.md.
//
// Stability: young, see docs/versions.md.
package otelleat
