package otelleat_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/middleware/otelleat"
	"github.com/leat-go/leat/outbox"
)

// The producer's outbox puts the trace into the headers; the consumer's spans
// are part of it.
func Example() {
	inject := outbox.InjectorFunc(func(ctx context.Context, h map[string]string) {
		propagation.TraceContext{}.Inject(ctx, propagation.MapCarrier(h))
	})
	producing := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{15: 1}, SpanID: trace.SpanID{7: 2}, TraceFlags: trace.FlagsSampled,
	}))
	msg := message.NewMessage("order-1 paid", nil)
	inject.Inject(producing, msg.Metadata)
	fmt.Println(msg.Metadata.Get("traceparent"))

	provider := &recorder{} // sdktrace.NewTracerProvider(…)
	tracer, err := otelleat.NewTracer(provider, otelleat.TracerConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	in, err := meminbox.New("loyalty", meminbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
	if err != nil {
		fmt.Println(err)
		return
	}
	handle := func(*message.Message) ([]*message.Message, error) { return nil, nil }
	_, err = tracer.Middleware(once(tracer.Inside(handle)))(msg)
	for _, s := range provider.spans {
		fmt.Println(s.name, "in trace", s.ctx.TraceID())
	}
	fmt.Println(err)
	// Output:
	// 00-00000000000000000000000000000001-0000000000000002-01
	// process in trace 00000000000000000000000000000001
	// claim in trace 00000000000000000000000000000001
	// handle in trace 00000000000000000000000000000001
	// commit in trace 00000000000000000000000000000001
	// <nil>
}
