package httpdedupe

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/outbox"
)

var (
	// errNotKept ends a run whose response is sent to the client, but not kept for the key.
	errNotKept = errors.New("leat: the response is not to be kept")
	// errAbandoned ends a run whose context has ended before it answered.
	errAbandoned = errors.New("leat: handler gave up without an answer")
)

// leased runs handlers once for each key, under a lease in a dedupe.Store.
type leased struct {
	rules

	processor *dedupe.Processor
}

// New returns a middleware that remembers requests by p. A negative BusyDelay is best, since a
// client is told when to retry. Use p for requests only: if a router's handler uses it as well,
// that handler fails with inbox.ErrTwoHandlers. Errors wrap outbox.ErrInvalidConfig. The
// middleware is safe for concurrent use.
//
// Scope returns the tenant that a request belongs to, such as an account id: clients of one
// tenant may see each other's responses. Take it from the authenticated identity, never from what
// the client merely claims. Keys of different tenants are independent. A scope has at most 512
// bytes of UTF-8; an error or an empty scope refuses the request with 403. Scope is required and
// must be safe for concurrent use; OneTenant is for a service with a single tenant.
//
// The handler's context is the request's, so it ends when the client goes; it also ends, with
// cause dedupe.ErrLeaseLost, when the lease cannot be kept; dedupe.FromContext returns the
// attempt. The response is held back until it is recorded. A handler that panics releases the
// key, and the panic goes on.
//
// If the handler has run but the store cannot record it, the response is sent all the same, since
// the effect is there: a repeat after the lease runs the handler again.
func New(p *dedupe.Processor, scope func(r *http.Request) (string, error), cfg Config) (func(http.Handler) http.Handler, error) {
	cfg = cfg.withDefaults(60<<10, keepAnswers)
	switch {
	case p == nil:
		return nil, outbox.ConfigError("processor", nil, "must not be nil")
	case scope == nil:
		return nil, outbox.ConfigError("scope", nil, "must not be nil: keys of one tenant must not get another's responses")
	case cfg.AfterCommit != nil:
		return nil, outbox.ConfigError("AfterCommit", "func", "is for NewTx")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := p.OneHandler("httpdedupe"); err != nil { // clients choose keys, which must not be ids of messages
		return nil, outbox.ConfigError("processor", p.Consumer(), err.Error())
	}
	m := &leased{rules: rules{Config: cfg, scope: scope}, processor: p}
	return m.around(m.serve), nil
}

func (m *leased) serve(ctx context.Context, w http.ResponseWriter, c *call, next http.Handler) {
	rec := newStreamer(w, m.MaxResponseBytes)
	res, err := m.processor.Do(ctx, dedupe.Message{ID: c.id, Fingerprint: c.fingerprint}, func(ctx context.Context) ([]byte, error) {
		return m.run(ctx, rec, c.request, next)
	})
	switch {
	case err == nil && res.Outcome == dedupe.OutcomeDuplicate:
		m.replay(w, c.request, res.Value)
	case err == nil, rec.through, errors.Is(err, errNotKept):
		rec.deliver()
	case errors.Is(err, dedupe.ErrUnavailable) && rec.written():
		m.Logger.ErrorContext(ctx, "response is not recorded, a repeat of the request runs again", slog.Any("error", err))
		rec.deliver()
	default:
		m.answer(w, c.request, m.refusal(ctx, err))
	}
}

// run calls the handler, and returns its response in stored form.
func (m *leased) run(ctx context.Context, rec streamer, r *http.Request, next http.Handler) ([]byte, error) {
	next.ServeHTTP(rec, r.WithContext(ctx))
	if !rec.written() && ctx.Err() != nil {
		return nil, errAbandoned
	}
	res := rec.response(m.Headers)
	if !m.Keep(res.Status) {
		return nil, errNotKept
	}
	return res.encode()
}

// refusal returns the response to send if the handler did not run, or its response does not
// count.
func (m *leased) refusal(ctx context.Context, err error) *Problem {
	busy, ok := errors.AsType[*dedupe.BusyError](err)
	switch {
	case ok:
		return again(http.StatusConflict, codeInFlight, "A request with this key is being processed.", busy.Remaining)
	case errors.Is(err, dedupe.ErrMismatch):
		return problem(http.StatusUnprocessableEntity, codeReused, "The key was used for another request.")
	case errors.Is(err, dedupe.ErrFenced):
		return again(http.StatusConflict, codeInFlight, "Another request with this key has taken over.", 0)
	case errors.Is(err, errAbandoned):
		return again(http.StatusServiceUnavailable, codeAbandoned, "The request was given up.", 0)
	default:
		m.Logger.ErrorContext(ctx, "idempotency store is unavailable", slog.Any("error", err))
		return again(http.StatusServiceUnavailable, codeUnavailable, "The idempotency store is unavailable.", 0)
	}
}
