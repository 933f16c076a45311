package otelleat

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// waitKey is the attribute with the time that a record has waited in the outbox.
const waitKey = "leat.wait"

// Publishing returns a hook that creates a span for each attempt of a relay to deliver a record,
// as a child of the span that was current when the message was enqueued. Give it to
// relay.Config.Hooks. The record is sent unchanged, so the span of a delivery is a sibling of the
// attempt's span and not its child. The hook is safe for concurrent use.
//
// The span lasts as long as the call of the sink, which may have carried other records. Its
// attribute leat.wait is the time in seconds from the storing of the message, by the database's
// clock, to the call, by this machine's clock. It is 0 if that would be negative because the
// clocks differ. A record without a trace in its headers gets no span, and neither does a record
// that the sink has not tried (outbox.FailureNotSent).
func (t *Tracer) Publishing() relay.SendHook { return publishing{t} }

type publishing struct{ tracer *Tracer }

// Borrows implements driver.Borrower of package outbox/driver.
func (publishing) Borrows() {}

// OnRelaySend implements relay.SendHook.
func (p publishing) OnRelaySend(ctx context.Context, e relay.SendEvent) {
	over := time.Now()
	began := over.Add(-e.Took)
	ctx = context.WithoutCancel(ctx)
	for i := range e.Records {
		p.span(ctx, &e.Records[i], e.Results[i].Err, began, over)
	}
}

// span creates the span of one record, if it was tried and has a trace.
func (p publishing) span(ctx context.Context, r *outbox.Record, err error, began, over time.Time) {
	if err != nil && outbox.KindOf(err) == outbox.FailureNotSent {
		return
	}
	ctx, opts := p.tracer.follow(ctx, r.Headers)
	if opts == nil {
		return
	}
	opts = append(opts, trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
		attribute.String("messaging.operation.type", "send"),
		attribute.String("messaging.message.id", r.ID),
		attribute.String("messaging.destination.name", r.Topic),
		attribute.Int("messaging.message.body.size", len(r.Payload)),
		attribute.Float64(waitKey, max(0, began.Sub(r.CreatedAt)).Seconds()),
	))
	_, span := p.tracer.tracer.Start(ctx, "publish "+r.Topic, opts...)
	if err != nil {
		span.RecordError(err, trace.WithTimestamp(over))
		span.SetStatus(codes.Error, err.Error())
	}
	span.End(trace.WithTimestamp(over))
}
