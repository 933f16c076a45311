package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/inbox/webhook"
	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/webhooks"
	"github.com/leat-go/leat/outbox"
)

func isKnown(err error) bool {
	return errors.Is(err, webhook.ErrMalformed) || errors.Is(err, webhook.ErrUnverified)
}

// service is a receiver with an inbox in memory, and a count of effects.
type service struct {
	t       *testing.T
	handler http.Handler
	seen    []*message.Message // whose transactions have committed
	events  []webhook.RequestEvent
	fail    error
}

func (s *service) OnWebhookRequest(_ context.Context, e webhook.RequestEvent) {
	s.events = append(s.events, e)
}

var _ webhook.RequestHook = (*service)(nil)

func serve(t *testing.T, policy inbox.Policy, cfg webhook.Config) *service {
	t.Helper()
	s := &service{t: t}
	in, err := meminbox.New("billing", meminbox.Config{Config: inbox.Config{BusyDelay: inbox.NoDelay, OnFailure: policy}})
	require.NoError(t, err)
	scheme, err := webhook.Standard(standardSecret)
	require.NoError(t, err)
	cfg.Hooks = []outbox.Hook{s}
	h, err := webhook.New(scheme, in, func(ctx context.Context, msg *message.Message) error {
		msg.Ack() // which reaches nobody
		meminbox.OnCommit(ctx, func() { s.seen = append(s.seen, msg) })
		return s.fail
	}, cfg)
	require.NoError(t, err)
	s.handler = h
	return s
}

// signed returns a request that httpsink, or anybody who follows the specification, sends.
func signed(t *testing.T, id, body string, header ...string) *http.Request {
	t.Helper()
	known, err := webhooks.ParseSecret(standardSecret)
	require.NoError(t, err)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks", strings.NewReader(body))
	timestamp := webhooks.Timestamp(time.Now())
	r.Header.Set("Webhook-Id", id)
	r.Header.Set("Webhook-Timestamp", timestamp)
	r.Header.Set("Webhook-Signature", webhooks.Sign([]webhooks.Secret{known}, id, timestamp, []byte(body)))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// send returns the answer, which says nothing but its status.
func (s *service) send(r *http.Request) (status int) {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	require.Empty(s.t, w.Body.String())
	require.Equal(s.t, w.Code, s.events[len(s.events)-1].Status)
	require.Equal(s.t, w.Code == http.StatusMethodNotAllowed, w.Header().Get("Allow") == "POST")
	return w.Code
}

// TestI1_OnceWhateverComes: the event takes effect once, and repeats are answered alike.
func TestI1_OnceWhateverComes(t *testing.T) {
	t.Parallel()
	s := serve(t, inbox.Policy{}, webhook.Config{Headers: []string{"x-tenant"}})
	for range 3 {
		require.Equal(t, 200, s.send(signed(t, "e-1", `{"n":1}`, "Content-Type", "application/json", "X-Tenant", "a", "X-Other", "b")))
	}
	require.Equal(t, 200, s.send(signed(t, "e-2", "\x00\xff")))
	require.Len(t, s.seen, 2)
	require.Equal(t, "e-1", s.seen[0].UUID)
	require.Equal(t, message.Metadata{"webhook-id": "e-1", "content-type": "application/json", "x-tenant": "a"}, s.seen[0].Metadata)
	require.Equal(t, "\x00\xff", string(s.seen[1].Payload))
	var outcomes []inbox.Outcome
	for _, e := range s.events {
		outcomes = append(outcomes, e.Outcome)
	}
	require.Equal(t, []inbox.Outcome{inbox.OutcomeCommitted, inbox.OutcomeDuplicate, inbox.OutcomeDuplicate, inbox.OutcomeCommitted}, outcomes)
}

// TestI3_NoSuccessWithoutACommit: what has failed leaves nothing, and is run again.
func TestI3_NoSuccessWithoutACommit(t *testing.T) {
	t.Parallel()
	s := serve(t, inbox.Policy{}, webhook.Config{Logger: slog.New(slog.DiscardHandler)})
	s.fail = errors.New("not now")
	require.Equal(t, 500, s.send(signed(t, "e-1", "a")))
	s.fail = inbox.Permanent(errors.New("never"))
	require.Equal(t, 422, s.send(signed(t, "e-1", "a")))
	require.Empty(t, s.seen)
	s.fail = nil
	require.Equal(t, 200, s.send(signed(t, "e-1", "a")))
	require.Len(t, s.seen, 1)
}

// TestParked: what an inbox gives up is taken, so that it holds up nothing.
func TestParked(t *testing.T) {
	t.Parallel()
	s := serve(t, inbox.Policy{Attempts: 2, Delay: inbox.NoDelay, Action: inbox.Park}, webhook.Config{Logger: slog.New(slog.DiscardHandler)})
	s.fail = errors.New("never")
	require.Equal(t, 500, s.send(signed(t, "e-1", "a")))
	require.Equal(t, 200, s.send(signed(t, "e-1", "a")))
	require.Equal(t, inbox.OutcomeParked, s.events[1].Outcome)
	s.fail = nil
	require.Equal(t, 200, s.send(signed(t, "e-1", "a")))
	require.Empty(t, s.seen)
}

// TestRefused: who is not verified learns nothing, and nothing is recorded.
func TestRefused(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := serve(t, inbox.Policy{}, webhook.Config{MaxBodyBytes: 10, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	change := func(name, value string) *http.Request { return signed(t, "e-1", "body", name, value) }
	get := signed(t, "e-1", "body")
	get.Method = http.MethodGet
	old := signed(t, "e-1", "body")
	broken := signed(t, "e-1", "body")
	broken.Body = io.NopCloser(io.MultiReader(strings.NewReader("bo"), failing{}))
	old.Header = standardRequest().Header
	for name, c := range map[string]struct {
		r    *http.Request
		want int
	}{
		"signature":    {change("Webhook-Signature", standardValue), 401},
		"no signature": {change("Webhook-Signature", ""), 401},
		"other id":     {change("Webhook-Id", "e-2"), 401},
		"old":          {old, 401},
		"no id":        {change("Webhook-Id", ""), 400},
		"long id":      {signed(t, strings.Repeat("x", 513), "body"), 400},
		"odd id":       {signed(t, "\xff", "body"), 400},
		"timestamp":    {change("Webhook-Timestamp", "x"), 400},
		"broken body":  {broken, 400},
		"large":        {signed(t, "e-1", "larger than 10 bytes"), 413},
		"get":          {get, 405},
	} {
		require.Equal(t, c.want, s.send(c.r), name)
		require.Error(t, s.events[len(s.events)-1].Err)
	}
	require.Empty(t, s.seen)
	require.Equal(t, 1, strings.Count(log.String(), "\n"), "they share a line: %s", log.String())
	require.Equal(t, 200, s.send(signed(t, "e-1", "body")))
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// scripted is an inbox that returns what it is told.
type scripted struct{ err error }

func (s scripted) Process(context.Context, *message.Message, func(context.Context) error) (inbox.Outcome, error) {
	return inbox.OutcomeFailed, s.err
}

// TestAnswers: each failure of an inbox has a status that lets the sender do the right
// thing.
func TestAnswers(t *testing.T) {
	t.Parallel()
	scheme, err := webhook.Standard(standardSecret)
	require.NoError(t, err)
	for want, errs := range map[int][]error{
		409: {inbox.ErrBusy},
		422: {driver.ErrTooOld, inbox.ErrFingerprintMismatch},
		500: {errors.New("other")},
		503: {inbox.ErrNotClaimed, inbox.ErrCommitUnknown, inbox.ErrConflict, inbox.ErrNotGivenUp, driver.ErrTooNew, context.Canceled},
	} {
		for _, err := range errs {
			h, newErr := webhook.New(scheme, scripted{err}, func(context.Context, *message.Message) error { return nil },
				webhook.Config{Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, newErr)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, signed(t, "e-1", ""))
			require.Equal(t, want, w.Code, err)
			require.Equal(t, want == 409 || want == 503, w.Header().Get("Retry-After") == "1", err)
		}
	}
}

// TestOverload: what there is no room for is refused at once, and can come again.
func TestOverload(t *testing.T) {
	t.Parallel()
	in, err := meminbox.New("billing", meminbox.Config{})
	require.NoError(t, err)
	scheme, err := webhook.Standard(standardSecret)
	require.NoError(t, err)
	began, goOn := make(chan struct{}), make(chan struct{})
	h, err := webhook.New(scheme, in, func(_ context.Context, msg *message.Message) error {
		if msg.UUID != "e-9" {
			began <- struct{}{}
			<-goOn
		}
		return nil
	}, webhook.Config{MaxConcurrent: 2, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	send := func(id string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, signed(t, id, ""))
		return w
	}
	var under sync.WaitGroup
	for _, id := range []string{"e-1", "e-2"} {
		under.Go(func() { require.Equal(t, 200, send(id).Code) })
		<-began
	}
	full := send("e-9")
	require.Equal(t, 503, full.Code)
	require.Equal(t, "1", full.Header().Get("Retry-After"))
	bad := httptest.NewRecorder()
	r := signed(t, "e-9", "")
	r.Header.Del("Webhook-Signature")
	h.ServeHTTP(bad, r)
	require.Equal(t, 401, bad.Code, "strangers take no room")
	close(goOn)
	under.Wait()
	require.Equal(t, 200, send("e-9").Code)
}

// TestPanic: the transaction is rolled back, the place is free again, and the panic goes on.
func TestPanic(t *testing.T) {
	t.Parallel()
	in, err := meminbox.New("billing", meminbox.Config{Config: inbox.Config{Logger: slog.New(slog.DiscardHandler)}})
	require.NoError(t, err)
	scheme, err := webhook.Standard(standardSecret)
	require.NoError(t, err)
	ran := 0
	h, err := webhook.New(scheme, in, func(context.Context, *message.Message) error {
		if ran++; ran < 3 {
			panic("no")
		}
		return nil
	}, webhook.Config{MaxConcurrent: 1, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	for range 2 {
		require.Panics(t, func() { h.ServeHTTP(httptest.NewRecorder(), signed(t, "e-1", "")) })
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, signed(t, "e-1", ""))
	require.Equal(t, 200, w.Code)
	require.Equal(t, 3, ran)
}

func TestNew_Refused(t *testing.T) {
	t.Parallel()
	scheme, err := webhook.Standard(standardSecret)
	require.NoError(t, err)
	handle := func(context.Context, *message.Message) error { return nil }
	in := scripted{}
	for field, cfg := range map[string]webhook.Config{
		"Tolerance":     {Tolerance: -1},
		"MaxBodyBytes":  {MaxBodyBytes: -1},
		"MaxConcurrent": {MaxConcurrent: -1},
		"Headers[0]":    {Headers: []string{"event-id"}},
		"Hooks[0]":      {Hooks: []outbox.Hook{42}},
	} {
		_, err := webhook.New(scheme, in, handle, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, field+" = ")
	}
	_, err = webhook.New(nil, in, handle, webhook.Config{})
	require.ErrorContains(t, err, "scheme")
	_, err = webhook.New(scheme, nil, handle, webhook.Config{})
	require.ErrorContains(t, err, "in = ")
	_, err = webhook.New(scheme, in, nil, webhook.Config{})
	require.ErrorContains(t, err, "handle")
}

// TestLog_ClockThatJumps: whether a line is due is decided by a clock that nobody sets, so that forged requests leave one
// after ours was ahead.
func TestLog_ClockThatJumps(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := serve(t, inbox.Policy{}, webhook.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	before := clocks.Passed()
	for range 2 {
		r := signed(t, "e-1", "x")
		r.Header.Set("Webhook-Signature", "v1,AAAA")
		require.NotEqual(t, 200, s.send(r))
	}
	require.Equal(t, 1, strings.Count(log.String(), "request is not a verified webhook"))
	require.GreaterOrEqual(t, webhook.Logged(s.handler), before)
	require.LessOrEqual(t, webhook.Logged(s.handler), clocks.Passed())
}
