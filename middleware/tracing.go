package middleware

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// errTracePanicked is what the spans of a handler end with that panicked.
var errTracePanicked = errors.New("handler panicked")

// SpanKind tells the spans of a delivery apart.
type SpanKind string

const (
	// SpanProcess is all of a delivery.
	SpanProcess SpanKind = "process"
	// SpanClaim is from the beginning of the delivery to the handler: the inbox's
	// claim.
	SpanClaim SpanKind = "claim"
	// SpanHandle is the handler.
	SpanHandle SpanKind = "handle"
	// SpanCommit is from the handler to the end of the delivery: the inbox's
	// commit, or its rollback.
	SpanCommit SpanKind = "commit"
)

// Span describes a span that begins.
type Span struct {
	Kind SpanKind
	// Began is when it began, which may be a while ago.
	Began time.Time
	// Headers are the message's, with the producer's trace in them. Of
	// SpanProcess alone, and to be read alone.
	Headers map[string]string
	// MessageID, Handler and Topic say what is processed; empty where it is not known.
	MessageID, Handler, Topic string
}

// Tracer begins spans; package middleware/oteltrace has one for OpenTelemetry.
// It is safe for concurrent use.
type Tracer interface {
	// Begin begins a span as a child of ctx's, or for SpanProcess of what is in
	// the headers. The context that it returns carries it; end is called once.
	Begin(ctx context.Context, s Span) (inside context.Context, end func(at time.Time, err error))
}

// TracingConfig tunes NewTracing. Tracer is required.
type TracingConfig struct {
	// Tracer begins the spans. Required.
	Tracer Tracer
}

// Tracing continues the trace of the message's producer. Middleware stands just
// outside Inbox, so that each try is a span of its own; Inside just inside, and
// splits it into claim, handler and commit. It is safe for concurrent use.
type Tracing struct{ tracer Tracer }

// NewTracing returns a Tracing. Errors wrap outbox.ErrInvalidConfig.
func NewTracing(cfg TracingConfig) (*Tracing, error) {
	if cfg.Tracer == nil {
		return nil, outbox.ConfigError("TracingConfig.Tracer", nil, "is required")
	}
	return &Tracing{tracer: cfg.Tracer}, nil
}

type traceKey struct{}

// trace is what Inside tells the Middleware around it.
type trace struct {
	began  time.Time
	inside bool // Inside was reached, and is over since:
	over   time.Time
}

// Middleware wraps h. It is safe for concurrent use.
func (t *Tracing) Middleware(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) (produced []*message.Message, err error) {
		orig := msg.Context()
		s := span(orig, SpanProcess, msg)
		s.Headers = msg.Metadata
		ctx, end := t.tracer.Begin(orig, s)
		state := &trace{began: s.Began}
		msg.SetContext(context.WithValue(ctx, traceKey{}, state))
		cause := errTracePanicked
		defer func() {
			now := time.Now()
			if state.inside {
				s := span(orig, SpanCommit, msg)
				s.Began = state.over
				t.past(ctx, s, now, cause)
			}
			end(now, cause)
			msg.SetContext(orig) // what stands outside is not inside the span
		}()
		produced, err = h(msg)
		cause = err
		return produced, err
	}
}

// Inside wraps h within the Inbox. Without Middleware outside, it does nothing.
func (t *Tracing) Inside(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) (produced []*message.Message, err error) {
		orig := msg.Context()
		state, ok := orig.Value(traceKey{}).(*trace)
		if !ok {
			return h(msg)
		}
		s := span(orig, SpanClaim, msg)
		now := s.Began
		s.Began = state.began
		t.past(orig, s, now, nil)
		ctx, end := t.tracer.Begin(orig, span(orig, SpanHandle, msg))
		msg.SetContext(ctx)
		cause := errTracePanicked
		defer func() {
			state.inside, state.over = true, time.Now()
			end(state.over, cause)
			msg.SetContext(orig)
		}()
		produced, err = h(msg)
		cause = err
		return produced, err
	}
}

// past makes a span that is over.
func (t *Tracing) past(ctx context.Context, s Span, at time.Time, err error) {
	_, end := t.tracer.Begin(ctx, s)
	end(at, err)
}

func span(ctx context.Context, kind SpanKind, msg *message.Message) Span {
	return Span{
		Kind: kind, Began: time.Now(), MessageID: msg.UUID,
		Handler: message.HandlerNameFromCtx(ctx), Topic: message.SubscribeTopicFromCtx(ctx),
	}
}
