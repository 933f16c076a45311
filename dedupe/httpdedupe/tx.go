package httpdedupe

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/outbox"
)

// transactional runs handlers once for each key, in the transaction that stores their
// response.
type transactional struct {
	rules

	store dedupe.TxStore
}

// NewTx returns a middleware that remembers requests in store. Scope is that of New.
// Errors wrap outbox.ErrInvalidConfig. The middleware is safe for concurrent use.
//
// Only requests with a key get a transaction: Config.Required makes sure that all of
// Config.Methods have one. The request's context carries the transaction, for pgdedupe.Tx, and
// for an outbox's EnqueueContext. The response is written after the commit; so nothing can be
// streamed: the handler's http.ResponseWriter has no Flush and no Hijack. The transaction is
// rolled back if Config.Keep refuses the response, which is still sent; if the handler panics,
// and the panic goes on; and if the handler stops because its context has ended.
//
// If the commit gets no answer, the client is told to send the request again. It then gets the
// stored response if the commit took effect; otherwise the handler runs again.
func NewTx(store dedupe.TxStore, scope func(r *http.Request) (string, error), cfg Config) (func(http.Handler) http.Handler, error) {
	cfg = cfg.withDefaults(1<<20, keepSuccess)
	switch {
	case store == nil:
		return nil, outbox.ConfigError("store", nil, "must not be nil")
	case scope == nil:
		return nil, outbox.ConfigError("scope", nil, "must not be nil: keys of one tenant must not get another's responses")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	m := &transactional{rules: rules{Config: cfg, scope: scope}, store: store}
	return m.around(m.serve), nil
}

func (m *transactional) serve(ctx context.Context, w http.ResponseWriter, c *call, next http.Handler) {
	unit, claim, err := m.store.Claim(ctx, c.id, c.fingerprint)
	switch {
	case err != nil:
		m.Logger.ErrorContext(ctx, "idempotency store is unavailable", slog.Any("error", err))
		m.answer(w, c.request, again(http.StatusServiceUnavailable, codeUnavailable, "The idempotency store is unavailable.", 0))
	case claim.Status == dedupe.Done:
		m.replay(w, c.request, claim.Result)
	case claim.Status == dedupe.Mismatch:
		m.answer(w, c.request, problem(http.StatusUnprocessableEntity, codeReused, "The key was used for another request."))
	case claim.Status != dedupe.Claimed || unit == nil:
		m.answer(w, c.request, again(http.StatusConflict, codeInFlight, "A request with this key is being processed.", claim.Remaining))
	default:
		rec := newRecorder(w, m.MaxResponseBytes)
		if p := m.run(ctx, unit, rec, c.request, next); p != nil {
			m.answer(w, c.request, p)
			return
		}
		rec.deliver()
	}
}

// run calls the handler in the unit's transaction and ends the unit. Its problem is nil if the
// handler's response must be sent.
func (m *transactional) run(ctx context.Context, unit dedupe.TxUnit, rec *recorder, r *http.Request, next http.Handler) *Problem {
	committing := false
	defer func() { // also when the handler panics
		if !committing {
			m.rollback(ctx, unit)
		}
	}()
	next.ServeHTTP(rec, r.WithContext(unit.Context(ctx)))
	switch {
	case rec.tooLarge:
		return problem(http.StatusInternalServerError, codeTooLarge, "The response is too large to be kept; nothing was done.")
	case !rec.written() && ctx.Err() != nil:
		return again(http.StatusServiceUnavailable, codeAbandoned, "The request was given up.", 0)
	}
	res := rec.response(m.Headers)
	if !m.Keep(res.Status) {
		return nil
	}
	stored, err := res.encode()
	if err != nil {
		m.Logger.ErrorContext(ctx, "response cannot be stored", slog.Any("error", err))
		return again(http.StatusServiceUnavailable, codeNotCommitted, "The request was not processed.", 0)
	}
	committing = true // commit ends the unit, whatever it returns
	return m.commit(ctx, unit, stored)
}

func (m *transactional) commit(ctx context.Context, unit dedupe.TxUnit, stored []byte) *Problem {
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.FinishTimeout)
	defer cancel()
	err := unit.Commit(finish, stored)
	switch {
	case err == nil:
		if m.AfterCommit != nil {
			m.AfterCommit()
		}
		return nil
	case errors.Is(err, dedupe.ErrNotCommitted):
		m.Logger.WarnContext(ctx, "request rolled back", slog.Any("error", err))
		return again(http.StatusServiceUnavailable, codeNotCommitted, "The request was not processed.", 0)
	default:
		m.Logger.ErrorContext(ctx, "outcome of the commit is unknown", slog.Any("error", err))
		return again(http.StatusInternalServerError, codeUnknown,
			"It is not known whether the request was processed; send it again with the same key.", 0)
	}
}

func (m *transactional) rollback(ctx context.Context, unit dedupe.TxUnit) {
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.FinishTimeout)
	defer cancel()
	if err := unit.Rollback(finish); err != nil {
		m.Logger.WarnContext(ctx, "rollback failed, the connection is given up", slog.Any("error", err))
	}
}
