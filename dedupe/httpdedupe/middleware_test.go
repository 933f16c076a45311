package httpdedupe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/httpdedupe"
	"github.com/leat-go/leat/outbox"
)

// TestReplay: a repeat gets the status, the selected headers and the body of the
// first, never its cookies, and the handler does not run.
func TestReplay(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Context().Err() != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "text/plain")
		h.Set("Location", "/orders/1")
		h.Set("Set-Cookie", "session=secret")
		h.Set("Connection", "Link")
		h.Set("Link", "hop by hop by name")
		h.Set("X-Other", "not selected")
		w.WriteHeader(http.StatusCreated)
		h.Set("Location", "too late")
		fmt.Fprintf(w, "run %d of %s", runs.Add(1), body)
	}, httpdedupe.Config{})

	first := send(t, url+"/a%2Fb?x=1", "k", "body")
	require.Equal(t, http.StatusCreated, first.StatusCode)
	require.Equal(t, "run 1 of body", first.body)
	require.Equal(t, "session=secret", first.Header.Get("Set-Cookie"))
	require.Empty(t, first.Header.Get("Idempotency-Replayed"))
	for range 2 {
		again := send(t, url+"/a%2Fb?x=1", `"k"`, "body")
		require.Equal(t, http.StatusCreated, again.StatusCode)
		require.Equal(t, "run 1 of body", again.body)
		require.Equal(t, "text/plain", again.Header.Get("Content-Type"))
		require.Equal(t, "/orders/1", again.Header.Get("Location"))
		require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
		for _, name := range []string{"Set-Cookie", "Link", "X-Other"} {
			require.Empty(t, again.Header.Get(name), name)
		}
	}
	require.Equal(t, "run 2 of body", send(t, url, "other", "body").body)
	require.Equal(t, "run 3 of body", send(t, url+"/a%2Fb?x=1", "k", "body", "X-Tenant", "rival").body, "another tenant's key")
}

func TestPassesThrough(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, runs.Add(1)) }, httpdedupe.Config{})
	require.Equal(t, "1", send(t, url, "", "").body)
	require.Equal(t, "2", send(t, url, "", "").body)
	for want := 3; want < 5; want++ {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Idempotency-Key", "k")
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, strconv.Itoa(want), string(body), "a safe method")
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestBadInput: the statuses and codes of docs/http-idempotency.md, and their texts.
func TestBadInput(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "done")
	}, httpdedupe.Config{Required: true, MaxKeyBytes: 8, MaxBodyBytes: 16})
	require.Equal(t, http.StatusOK, send(t, url, "used", "one").StatusCode)
	unquoted := "Idempotency-Key: the key is invalid: a key without quotes has visible ASCII characters, except quote, comma, semicolon and backslash"
	for name, tt := range map[string]struct {
		key, body, tenant string
		status            int
		code              string
		detail            string
	}{
		"missing":   {"", "", "acme", 400, "idempotency_key_missing", "This request needs the header Idempotency-Key."},
		"empty":     {`""`, "", "acme", 400, "idempotency_key_invalid", "Idempotency-Key: the key is invalid: it is empty"},
		"long":      {"123456789", "", "acme", 400, "idempotency_key_invalid", "Idempotency-Key: the key is invalid: it has 9 bytes, at most 8"},
		"space":     {"a b", "", "acme", 400, "idempotency_key_invalid", unquoted},
		"two":       {"a,b", "", "acme", 400, "idempotency_key_invalid", unquoted},
		"open":      {`"a`, "", "acme", 400, "idempotency_key_invalid", "Idempotency-Key: the key is invalid: it has no closing quote"},
		"trailing":  {`"a";p=1`, "", "acme", 400, "idempotency_key_invalid", "Idempotency-Key: the key is invalid: it is not a string of RFC 8941"},
		"no tenant": {"k", "", "", 403, "idempotency_no_tenant", "The request cannot be assigned to a tenant."},
		"large":     {"k", "12345678901234567", "acme", 413, "idempotency_body_too_large", "A request with the header Idempotency-Key has at most 16 bytes."},
		"reused":    {"used", "two", "acme", 422, "idempotency_key_reused", "The key was used for another request."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := send(t, url, tt.key, tt.body, "X-Tenant", tt.tenant)
			require.Equal(t, tt.status, a.StatusCode)
			require.Equal(t, tt.code, a.code(t))
			require.Contains(t, a.body, `"detail":"`+tt.detail+`"`)
			require.Empty(t, a.Header.Get("Retry-After"))
		})
	}
	require.Equal(t, http.StatusUnprocessableEntity, send(t, url+"/elsewhere", "used", "one").StatusCode)
	require.Equal(t, http.StatusUnprocessableEntity, send(t, url+"?more", "used", "one").StatusCode)
}

// TestConcurrent: of many requests with one key at the same time one runs; the
// others are told to come again, and then get its response.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	var runs atomic.Int32
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		runs.Add(1)
		close(entered)
		<-leave
		fmt.Fprint(w, "done")
	}, httpdedupe.Config{})

	var wg sync.WaitGroup
	var first answer
	var firstErr error
	wg.Go(func() { first, firstErr = trySend(t.Context(), url, "k", "body") })
	<-entered
	for range 4 {
		a := send(t, url, "k", "body")
		require.Equal(t, http.StatusConflict, a.StatusCode)
		require.Equal(t, "idempotency_key_in_flight", a.code(t))
		after, err := strconv.Atoi(a.Header.Get("Retry-After"))
		require.NoError(t, err)
		require.True(t, 1 <= after && after <= 30, "from what the lease still runs: %d", after)
	}
	require.Equal(t, "idempotency_key_reused", send(t, url, "k", "another body").code(t))
	close(leave)
	wg.Wait()
	require.NoError(t, firstErr)
	require.Equal(t, "done", first.body)
	require.Equal(t, "done", send(t, url, "k", "body").body)
	require.EqualValues(t, 1, runs.Load())
}

// TestReleased: what fails is not kept, so that the request can be repeated.
func TestReleased(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		switch runs.Add(1) {
		case 1:
			http.Error(w, "sorry", http.StatusBadGateway)
		case 2:
			http.Error(w, "slow down", http.StatusTooManyRequests)
		case 3:
			panic(http.ErrAbortHandler)
		default:
			http.Error(w, "no such account", http.StatusNotFound)
		}
	}, httpdedupe.Config{})
	require.Equal(t, "sorry\n", send(t, url, "k", "").body)
	require.Equal(t, http.StatusTooManyRequests, send(t, url, "k", "").StatusCode)
	_, err := trySend(t.Context(), url, "k", "")
	require.Error(t, err, "the handler has panicked")
	for range 2 {
		a := send(t, url, "k", "")
		require.Equal(t, http.StatusNotFound, a.StatusCode)
		require.Equal(t, "no such account\n", a.body)
	}
	require.EqualValues(t, 4, runs.Load())
}

// TestStoreAway: nothing runs while the store cannot be asked; where it cannot be
// told, the client gets the response that there is.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	errAway := errors.New("away")
	store := newFaulty(t)
	m, err := httpdedupe.New(newProcessor(t, store, dedupe.Config{}), httpdedupe.OneTenant, httpdedupe.Config{})
	require.NoError(t, err)
	var runs atomic.Int32
	url := listen(t, m(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, runs.Add(1)) })))

	store.claimErr.Store(&errAway)
	a := send(t, url, "k", "")
	require.Equal(t, http.StatusServiceUnavailable, a.StatusCode)
	require.Equal(t, "idempotency_store_unavailable", a.code(t))
	require.Equal(t, "1", a.Header.Get("Retry-After"))
	require.Zero(t, runs.Load())
	store.claimErr.Store(nil)

	store.completeErr.Store(&errAway)
	require.Equal(t, "1", send(t, url, "k", "").body)
	store.completeErr.Store(nil)
	require.Equal(t, "idempotency_key_in_flight", send(t, url, "k", "").code(t), "until the lease has run out")
}

// TestAbandoned: a handler that goes with its client has answered nothing, so
// that a repeat runs.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	entered, gone := make(chan struct{}), make(chan struct{})
	var runs atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if runs.Add(1) == 1 {
			close(entered)
			<-r.Context().Done()
			close(gone)
			return
		}
		fmt.Fprint(w, "done")
	}, httpdedupe.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = trySend(ctx, url, "k", "") })
	<-entered
	cancel()
	wg.Wait()
	<-gone
	require.Eventually(t, func() bool { return send(t, url, "k", "").body == "done" }, waitFor, tick)
	require.EqualValues(t, 2, runs.Load())
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	p := newProcessor(t, newFaulty(t), dedupe.Config{})
	_, err := httpdedupe.New(nil, tenant, httpdedupe.Config{})
	require.ErrorContains(t, err, "processor = <nil>: must not be nil")
	_, err = httpdedupe.New(p, nil, httpdedupe.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "scope = <nil>: must not be nil: keys of one tenant must not get another's responses")
	for want, cfg := range map[string]httpdedupe.Config{
		`Methods = "GET": must not name a safe method`: {Methods: []string{"POST", "GET"}},
		`Headers = "set-cookie": must not be repeated`: {Headers: []string{"set-cookie"}},
		"MaxKeyBytes = 481: must be 1 to 480":          {MaxKeyBytes: 481},
		"MaxBodyBytes = -1: must not be negative":      {MaxBodyBytes: -1},
		"MaxResponseBytes = -1: must not be negative":  {MaxResponseBytes: -1},
		"FinishTimeout = -1ns: must not be negative":   {FinishTimeout: -1},
		"AfterCommit = func: is for NewTx":             {AfterCommit: func() {}},
	} {
		_, err := httpdedupe.New(p, tenant, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, want)
	}
	_, err = httpdedupe.NewTx(nil, tenant, httpdedupe.Config{})
	require.ErrorContains(t, err, "store = <nil>")
	_, err = httpdedupe.NewTx(&txStore{}, nil, httpdedupe.Config{})
	require.ErrorContains(t, err, "scope = <nil>")
	_, err = httpdedupe.NewTx(&txStore{}, tenant, httpdedupe.Config{MaxKeyBytes: -1})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}

func TestScopeIsBounded(t *testing.T) {
	t.Parallel()
	url := serve(t, func(http.ResponseWriter, *http.Request) {}, httpdedupe.Config{})
	require.Equal(t, "idempotency_no_tenant", send(t, url, "k", "", "X-Tenant", strings.Repeat("x", 513)).code(t))
	require.Equal(t, http.StatusOK, send(t, url, strings.Repeat("k", 255), "", "X-Tenant", strings.Repeat("x", 512)).StatusCode)
}
