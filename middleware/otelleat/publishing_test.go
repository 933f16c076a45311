package otelleat_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/middleware/otelleat"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

var errBroker = errors.New("the broker fails")

// handing is a sink that takes a second, fails as often as it should, and hands what it
// was given to a handler.
type handing struct {
	fail   int
	handle message.HandlerFunc
	sent   []map[string]string
}

func (h *handing) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	_ = wait.For(context.Background(), time.Second)
	results := make([]outbox.Result, len(records))
	for i := range records {
		if h.fail > 0 {
			h.fail--
			results[i] = outbox.Failed(outbox.FailureUnknown, errBroker)
			continue
		}
		msg := outbox.ToWatermill(&records[i])
		h.sent = append(h.sent, maps.Clone(records[i].Headers))
		_, err := h.handle(msg)
		results[i].Err = err
	}
	return results
}

func injector() outbox.InjectorFunc {
	return func(ctx context.Context, h map[string]string) {
		propagation.TraceContext{}.Inject(ctx, propagation.MapCarrier(h))
	}
}

// TestFromEnqueueToHandler follows one message: the spans of the producer, of two attempts
// to publish and of the delivery are one trace, and the record is sent as it was enqueued.
func TestFromEnqueueToHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		spans := &recorder{}
		tr, err := otelleat.NewTracer(spans, otelleat.TracerConfig{})
		require.NoError(t, err)
		ob, err := memoutbox.New(memoutbox.Config{Injector: injector()})
		require.NoError(t, err)
		ctx, request := spans.Tracer("").Start(t.Context(), "request")
		require.NoError(t, ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
			return ob.Enqueue(ctx, tx, outbox.Message{ID: "a", Topic: "orders", Payload: []byte("paid")})
		}))
		request.End()
		stored := maps.Clone(ob.Messages()[0].Headers)
		require.Contains(t, stored, "traceparent")
		require.NoError(t, wait.For(t.Context(), time.Minute))

		in, err := meminbox.New("tester", meminbox.Config{})
		require.NoError(t, err)
		once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
		require.NoError(t, err)
		sink := &handing{fail: 1, handle: tr.Middleware(once(tr.Inside(
			func(*message.Message) ([]*message.Message, error) { return nil, nil })))}
		r, err := relay.New(ob.Source(memoutbox.SourceConfig{}), sink, relay.Config{Hooks: []outbox.Hook{tr.Publishing()}})
		require.NoError(t, err)
		n, err := r.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)

		require.Equal(t, []map[string]string{stored}, sink.sent, "the headers that were enqueued, and no others")
		byName := map[string][]*recorded{}
		for _, s := range spans.spans {
			require.Equal(t, spans.spans[0].ctx.TraceID(), s.ctx.TraceID(), s.name)
			byName[s.name] = append(byName[s.name], s)
		}
		producer := byName["request"][0].ctx.SpanID()
		tries := byName["publish orders"]
		require.Len(t, tries, 2)
		for _, s := range tries {
			require.Equal(t, trace.SpanKindProducer, s.kind)
			require.Equal(t, producer, s.parent.SpanID())
			require.Equal(t, time.Second, s.end.Sub(s.began))
			require.Equal(t, []string{"a", "orders", "4", "send"}, []string{
				s.attributes["messaging.message.id"], s.attributes["messaging.destination.name"],
				s.attributes["messaging.message.body.size"], s.attributes["messaging.operation.type"],
			})
		}
		require.Equal(t, "60", tries[0].attributes["leat.wait"])
		require.Contains(t, tries[0].status, "the broker fails")
		require.Empty(t, tries[1].status)
		require.False(t, tries[1].began.Before(tries[0].end), "one attempt after the other")
		require.Len(t, byName["process"], 1)
		require.Equal(t, producer, byName["process"][0].parent.SpanID())
		require.Len(t, byName["handle"], 1)
	})
}

// TestPublishing_Exceptions: no span of what was not tried or has no trace, a trace of its
// own if that is wanted, and no wait below zero.
func TestPublishing_Exceptions(t *testing.T) {
	t.Parallel()
	record := func(headers map[string]string) outbox.Record {
		return outbox.Record{Message: outbox.Message{ID: "a", Topic: "orders", Headers: headers}, CreatedAt: time.Now().Add(time.Hour)}
	}
	traced := map[string]string{"traceparent": traceparent}
	for _, newTrace := range []bool{false, true} {
		spans := &recorder{}
		tr, err := otelleat.NewTracer(spans, otelleat.TracerConfig{NewTrace: newTrace})
		require.NoError(t, err)
		current, request := spans.Tracer("").Start(t.Context(), "request")
		tr.Publishing().OnRelaySend(current, relay.SendEvent{
			Records: []outbox.Record{record(nil), record(traced), record(traced)},
			Results: []outbox.Result{{}, outbox.NotSent(), {}},
		})
		request.End()
		require.Len(t, spans.spans, 2, "the request, and the last record")
		s := spans.spans[1]
		require.Equal(t, "0", s.attributes["leat.wait"])
		require.Equal(t, newTrace, !s.parent.IsValid())
		require.Len(t, s.links, 1)
		require.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", s.links[0].SpanContext.TraceID().String())
	}
}
