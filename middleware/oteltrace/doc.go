// Package oteltrace is a middleware.Tracer for OpenTelemetry.
//
// The span of a delivery continues the trace of the message's producer: it is a
// child of the span that was current when the message was enqueued, and links to
// it. For that the outbox has an Injector, and the message the header
// traceparent.
package oteltrace
