package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/lent"
	"github.com/leat-go/leat/outbox"
)

// handler receives the webhooks of one sender. See design 12.9.
type handler struct {
	cfg    Config
	scheme Scheme
	in     inbox.Runner
	handle func(ctx context.Context, msg *message.Message) error
	slots  chan struct{}

	unverified atomic.Int64 // since the last line of the log
	logged     atomic.Int64 // time of the last line, by clocks.Passed
}

// New returns a handler of the webhooks of one sender, which is safe for concurrent use. It
// verifies requests by scheme and runs handle once for each event, in a transaction of in, which
// ctx and msg.Context() carry. If handle returns an error the transaction is rolled back, and the
// sender sends the event again. Errors wrap outbox.ErrInvalidConfig.
//
// The UUID of msg is the event's id, and its payload is the body, byte for byte. Its metadata has
// the event's id as "webhook-id", outbox.HeaderEventType if the event has a type, "content-type",
// and the headers of Config.Headers and Config.LeatHeaders.
//
// In should have inbox.NoDelay as its BusyDelay and as its Policy's Delay: the sender itself
// waits before it sends again. And its Policy should not be Block: otherwise an event that can
// never be handled arrives again for as long as its sender repeats it, and may hold up others.
//
// The handler answers with
//
//	200  after the commit, and for repeats; the event may have been given up, by Policy
//	400  to what is not a webhook of the scheme; 405 to methods other than POST
//	401  to what is not verified
//	409  while another delivery of the event is in progress
//	413  to bodies that are too large
//	422  if the handler has failed for good (inbox.Permanent), or the
//	     inbox cannot tell whether it was
//	500  if the handler fails
//	503  if there is no room, the inbox cannot be asked, or the commit got no answer
//
// 409 and 503 have Retry-After, one second. Answers contain only the status: the reason goes to
// the log and to hooks.
func New(
	scheme Scheme, in inbox.Runner, handle func(ctx context.Context, msg *message.Message) error, cfg Config,
) (http.Handler, error) {
	cfg = cfg.withDefaults()
	switch {
	case scheme == nil:
		return nil, outbox.ConfigError("scheme", nil, "must not be nil")
	case in == nil:
		return nil, outbox.ConfigError("in", nil, "must not be nil")
	case handle == nil:
		return nil, outbox.ConfigError("handle", nil, "must not be nil")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &handler{cfg: cfg, scheme: scheme, in: in, handle: handle, slots: make(chan struct{}, cfg.MaxConcurrent)}, nil
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := RequestEvent{Status: http.StatusInternalServerError, Outcome: inbox.OutcomeFailed}
	defer h.observe(r.Context(), time.Now(), &e) // even if the handler panics
	h.serve(w, r, &e)
	if e.Status == http.StatusConflict || e.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if e.Status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(e.Status)
}

// serve does everything except answering, and records the outcome in e.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, e *RequestEvent) {
	event, body, status, err := h.verify(w, r)
	if err != nil {
		e.Status, e.Err = status, err
		return
	}
	e.ID, e.Type = event.id, event.kind
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		e.Status, e.Err = http.StatusServiceUnavailable, errFull
		return
	}
	msg, err := h.message(r, event, body)
	if err != nil {
		e.Status, e.Err = http.StatusBadRequest, err
		return
	}
	e.ID = msg.UUID
	own := lent.Of(msg)
	defer own.Settle(false)
	e.Outcome, e.Err = h.in.Process(r.Context(), msg, func(ctx context.Context) error {
		return own.To(ctx, func(msg *message.Message) error { return h.handle(ctx, msg) })
	})
	own.Settle(e.Err == nil)
	e.Status = statusOf(e.Err)
	if e.Err == nil && e.Outcome != inbox.OutcomeDuplicate && h.cfg.AfterCommit != nil {
		h.cfg.AfterCommit()
	}
}

// errFull is the reason of a 503.
var errFull = errors.New("leat: too many webhooks at the same time")

// event is the result of a Scheme.
type event struct{ id, kind string }

// verify reads and verifies a request. status is the status to answer with after an error.
func (h *handler) verify(w http.ResponseWriter, r *http.Request) (event event, body []byte, status int, err error) {
	if r.Method != http.MethodPost {
		return event, nil, http.StatusMethodNotAllowed, fmt.Errorf("%w: method %.20q", ErrMalformed, r.Method)
	}
	if body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, h.cfg.MaxBodyBytes)); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return event, nil, http.StatusRequestEntityTooLarge, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		return event, nil, http.StatusBadRequest, fmt.Errorf("%w: body: %w", ErrMalformed, err)
	}
	event.id, event.kind, err = h.scheme.Verify(Request{Header: r.Header, Body: body, At: time.Now(), Tolerance: h.cfg.Tolerance})
	switch {
	case err == nil && event.id == "":
		return event, nil, http.StatusBadRequest, fmt.Errorf("%w: the event has no id", ErrMalformed)
	case err == nil && !utf8.ValidString(event.id+event.kind):
		return event, nil, http.StatusBadRequest, fmt.Errorf("%w: id or type of the event is not valid UTF-8", ErrMalformed)
	case err == nil && len(event.id) > outbox.MaxIDBytes:
		return event, nil, http.StatusBadRequest, fmt.Errorf("%w: the event's id has %d bytes", ErrMalformed, len(event.id))
	case err == nil:
		return event, body, 0, nil
	case errors.Is(err, ErrMalformed):
		return event, nil, http.StatusBadRequest, err
	default: // a scheme that returns no id has not verified anything
		return event, nil, http.StatusUnauthorized, err
	}
}

// statusOf returns the status for an error of the inbox.
func statusOf(err error) int {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, inbox.ErrBusy):
		return http.StatusConflict
	case errors.Is(err, inbox.ErrNotClaimed), errors.Is(err, inbox.ErrCommitUnknown), errors.Is(err, inbox.ErrConflict),
		errors.Is(err, inbox.ErrNotGivenUp), errors.Is(err, driver.ErrTooNew), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	case inbox.IsPermanent(err), errors.Is(err, driver.ErrTooOld), errors.Is(err, inbox.ErrFingerprintMismatch):
		return http.StatusUnprocessableEntity
	default:
		return http.StatusInternalServerError
	}
}
