package otelleat_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	wm "github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/internal/onehandler/routed"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/middleware/otelleat"
	"github.com/leat-go/leat/outbox"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a provider that keeps its spans.
type recorder struct {
	noop.TracerProvider

	mu    sync.Mutex
	spans []*recorded
}

type tracer struct {
	noop.Tracer

	*recorder
}

type recorded struct {
	noop.Span

	name       string
	kind       trace.SpanKind
	ctx        trace.SpanContext
	parent     trace.SpanContext
	links      []trace.Link
	attributes map[attribute.Key]string
	status     string
	began, end time.Time
}

func (r *recorder) Tracer(string, ...trace.TracerOption) trace.Tracer { return tracer{recorder: r} }

func (t tracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	cfg := trace.NewSpanStartConfig(opts...)
	s := &recorded{
		name: name, kind: cfg.SpanKind(), links: cfg.Links(), began: cfg.Timestamp(), attributes: make(map[attribute.Key]string),
	}
	for _, kv := range cfg.Attributes() {
		s.attributes[kv.Key] = fmt.Sprint(kv.Value.AsInterface())
	}
	if !cfg.NewRoot() {
		s.parent = trace.SpanContextFromContext(ctx)
	}
	id := trace.SpanID{}
	binary.BigEndian.PutUint64(id[:], uint64(len(t.spans)+1))
	traceID := s.parent.TraceID()
	if !traceID.IsValid() {
		traceID = trace.TraceID{0: 0xff, 15: byte(len(t.spans))}
	}
	s.ctx = trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: id})
	t.spans = append(t.spans, s)
	return trace.ContextWithSpan(ctx, s), s
}

func (s *recorded) SpanContext() trace.SpanContext { return s.ctx }
func (s *recorded) SetStatus(code codes.Code, detail string) {
	s.status = fmt.Sprint(code, ": ", detail)
}

func (s *recorded) End(opts ...trace.SpanEndOption) {
	cfg := trace.NewSpanEndConfig(opts...)
	s.end = cfg.Timestamp()
}

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

var errHandler = errors.New("the handler fails")

func process(t *testing.T, cfg otelleat.TracerConfig, header, value string) []*recorded {
	t.Helper()
	r := &recorder{}
	tr, err := otelleat.NewTracer(r, cfg)
	require.NoError(t, err)
	in, err := meminbox.New("tester", meminbox.Config{})
	require.NoError(t, err)
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
	require.NoError(t, err)
	h := tr.Middleware(once(tr.Inside(
		func(msg *message.Message) ([]*message.Message, error) {
			require.Equal(t, "handle", r.spans[2].name)
			require.Equal(t, r.spans[2].ctx, trace.SpanContextFromContext(msg.Context()))
			return nil, errHandler
		})))
	msg := message.NewMessage("a", nil)
	msg.Metadata.Set(header, value)
	_, err = h(msg)
	require.ErrorIs(t, err, errHandler)
	return r.spans
}

// TestContinuesTheProducersTrace: with a link to the producer's span.
func TestContinuesTheProducersTrace(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"traceparent", "Traceparent"} {
		spans := process(t, otelleat.TracerConfig{}, header, traceparent)
		require.Len(t, spans, 4)
		p := spans[0]
		require.Equal(t, "process", p.name)
		require.Equal(t, trace.SpanKindConsumer, p.kind)
		require.Equal(t, "00f067aa0ba902b7", p.parent.SpanID().String())
		require.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", p.ctx.TraceID().String())
		require.Len(t, p.links, 1)
		require.Equal(t, "00f067aa0ba902b7", p.links[0].SpanContext.SpanID().String())
		require.Equal(t, "a", p.attributes["messaging.message.id"])
		require.Equal(t, "Error: the handler fails", p.status)
		for i, name := range []string{"process", "claim", "handle", "commit"} {
			s := spans[i]
			require.Equal(t, name, s.name)
			require.False(t, s.end.Before(s.began))
			require.Equal(t, p.ctx.TraceID(), s.ctx.TraceID())
			if i > 0 {
				require.Equal(t, p.ctx.SpanID(), s.parent.SpanID(), name)
				require.Equal(t, trace.SpanKindInternal, trace.ValidateSpanKind(s.kind))
			}
		}
	}
}

// TestTries: each try has spans of its own, and a duplicate has no handler.
func TestTries(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	tr, err := otelleat.NewTracer(r, otelleat.TracerConfig{})
	require.NoError(t, err)
	in, err := meminbox.New("tester", meminbox.Config{})
	require.NoError(t, err)
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
	require.NoError(t, err)
	tries := 0
	h := tr.Middleware(once(tr.Inside(func(*message.Message) ([]*message.Message, error) {
		if tries++; tries == 1 {
			return nil, errHandler
		}
		return nil, nil
	})))
	msg, err := routed.Message(t.Context(), "points", "a")
	require.NoError(t, err)
	for range 3 {
		_, _ = h(msg)
	}
	require.Equal(t, trace.SpanContext{}, trace.SpanContextFromContext(msg.Context()), "what stands outside is not inside the span")
	const failed = "Error: the handler fails"
	require.Equal(t, []string{
		"process in: " + failed, "claim: ", "handle: " + failed, "commit: " + failed,
		"process in: ", "claim: ", "handle: ", "commit: ", "process in: ",
	}, r.ended())
	require.Equal(t, "points", r.spans[0].attributes["messaging.consumer.handler"])
}

// TestPanics: the spans of a handler that panics end with an error.
func TestPanics(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	tr, err := otelleat.NewTracer(r, otelleat.TracerConfig{})
	require.NoError(t, err)
	h := wm.Recoverer(tr.Middleware(tr.Inside(func(*message.Message) ([]*message.Message, error) { panic("on purpose") })))
	_, err = h(message.NewMessage("a", nil))
	require.Error(t, err)
	const panicked = "Error: handler panicked"
	require.Equal(t, []string{"process: " + panicked, "claim: ", "handle: " + panicked, "commit: " + panicked}, r.ended())
	_, err = tr.Inside(func(*message.Message) ([]*message.Message, error) { return nil, nil })(message.NewMessage("a", nil))
	require.NoError(t, err)
	require.Len(t, r.spans, 4, "nothing is outside")
}

// ended returns the spans with how they ended.
func (r *recorder) ended() []string {
	var all []string
	for _, s := range r.spans {
		all = append(all, s.name+": "+s.status)
	}
	return all
}

func TestNewTrace(t *testing.T) {
	t.Parallel()
	p := process(t, otelleat.TracerConfig{NewTrace: true, Propagator: propagation.TraceContext{}}, "traceparent", traceparent)[0]
	require.False(t, p.parent.IsValid())
	require.NotEqual(t, "4bf92f3577b34da6a3ce929d0e0e4736", p.ctx.TraceID().String())
	require.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", p.links[0].SpanContext.TraceID().String())
}

func TestNoProducer(t *testing.T) {
	t.Parallel()
	p := process(t, otelleat.TracerConfig{}, "traceparent", "nonsense")[0]
	require.False(t, p.parent.IsValid())
	require.Empty(t, p.links)
	_, err := otelleat.NewTracer(nil, otelleat.TracerConfig{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "provider = <nil>: must not be nil")
}
