package otelleat_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/leat-go/leat/middleware/otelleat"
)

// BenchmarkTracer continues the producer's trace with spans that cost nothing: what is
// left is what they are described with.
func BenchmarkTracer(b *testing.B) {
	tracer, err := otelleat.NewTracer(noop.NewTracerProvider(), otelleat.TracerConfig{})
	require.NoError(b, err)
	handled := 0
	handle := func(*message.Message) ([]*message.Message, error) {
		handled++
		return nil, nil
	}
	for name, h := range map[string]message.HandlerFunc{
		"process": tracer.Middleware(handle), "process+inside": tracer.Middleware(tracer.Inside(handle)),
	} {
		b.Run(name, func(b *testing.B) {
			handled = 0
			msg := message.NewMessageWithContext(b.Context(), "0190163d-8694-739b-aea5-966c26f8ad91", nil)
			msg.Metadata.Set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h(msg); err != nil {
					b.Fatal(err)
				}
			}
			require.Equal(b, b.N, handled)
		})
	}
}
