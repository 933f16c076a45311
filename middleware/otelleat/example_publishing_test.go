package otelleat_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/leat-go/leat/middleware/otelleat"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// taking is a sink that takes everything.
type taking struct{}

func (taking) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	return make([]outbox.Result, len(records))
}

// The trace of a request shows when its message was published.
func ExampleTracer_Publishing() {
	provider := &recorder{} // sdktrace.NewTracerProvider(…)
	tracer, err := otelleat.NewTracer(provider, otelleat.TracerConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ob, err := memoutbox.New(memoutbox.Config{Injector: injector()})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{15: 1}, SpanID: trace.SpanID{7: 2}, TraceFlags: trace.FlagsSampled,
	}))
	err = ob.InTx(request, func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Payload: []byte("order-1 paid")})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := relay.New(ob.Source(memoutbox.SourceConfig{}), taking{}, relay.Config{Hooks: []outbox.Hook{tracer.Publishing()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err = r.RunOnce(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range provider.spans {
		fmt.Println(s.name, "in trace", s.ctx.TraceID(), "below span", s.parent.SpanID())
	}
	// Output:
	// publish orders in trace 00000000000000000000000000000001 below span 0000000000000002
}
