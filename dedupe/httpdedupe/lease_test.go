package httpdedupe_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/httpdedupe"
	"github.com/leat-go/leat/dedupe/memdedupe"
)

// watched is a store that looks at the response when a request is completed.
type watched struct {
	*memdedupe.Store

	onComplete func()
	noExtend   bool
}

func (w watched) Complete(ctx context.Context, k dedupe.Key, token string, result []byte) (dedupe.Completion, error) {
	w.onComplete()
	return w.Store.Complete(ctx, k, token, result)
}

func (w watched) Extend(ctx context.Context, k dedupe.Key, token string, lease time.Duration) error {
	if w.noExtend {
		return context.DeadlineExceeded
	}
	return w.Store.Extend(ctx, k, token, lease)
}

// do sends one request through the middleware, in this goroutine.
func do(t *testing.T, store dedupe.Store, w http.ResponseWriter, body io.Reader, h http.HandlerFunc) {
	t.Helper()
	m, err := httpdedupe.New(newProcessor(t, store, dedupe.Config{Lease: 9 * time.Second}), httpdedupe.OneTenant, httpdedupe.Config{})
	require.NoError(t, err)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body)
	r.Header.Set("Idempotency-Key", "k")
	m(h).ServeHTTP(w, r)
}

// recordKey is the record of those requests.
func recordKey() dedupe.Key { return dedupe.Key{Consumer: "payments", ID: "1:-:k"} }

// TestD6_RecordedBeforeTheResponse: nothing is written to the client before the
// store knows.
func TestD6_RecordedBeforeTheResponse(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	completed := false
	do(t, watched{Store: newFaulty(t).Store, onComplete: func() {
		completed = true
		require.Zero(t, w.Body.Len())
		require.Empty(t, w.Header())
	}}, w, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Mine", "yes")
		fmt.Fprint(w, "done")
	})
	require.True(t, completed)
	require.Equal(t, "done", w.Body.String())
	require.Equal(t, "yes", w.Header().Get("X-Mine"))
}

// TestD6_TakenOver: a response does not count while another one processes the
// request, and nothing of it is seen.
func TestD6_TakenOver(t *testing.T) {
	t.Parallel()
	store := newFaulty(t).Store
	w := httptest.NewRecorder()
	w.Header().Set("X-Outer", "kept")
	var other dedupe.Claim
	var otherErr error
	do(t, store, w, nil, func(w http.ResponseWriter, r *http.Request) {
		store.Forget(recordKey())
		other, otherErr = store.Claim(r.Context(), recordKey(), dedupe.Request{Token: "other", Lease: time.Hour})
		w.Header().Set("Set-Cookie", "mine")
		w.Header().Set("Content-Length", "4")
		fmt.Fprint(w, "mine")
	})
	require.NoError(t, otherErr)
	require.Equal(t, dedupe.Claimed, other.Status)
	require.Equal(t, http.StatusConflict, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.Contains(t, w.Body.String(), `"detail":"Another request with this key has taken over."`)
	require.Equal(t, "kept", w.Header().Get("X-Outer"))
	require.Empty(t, w.Header().Get("Set-Cookie"))
	require.Empty(t, w.Header().Get("Content-Length"))
}

// TestD7_LeaseLost: the handler's context ends before another one can take over;
// one that heeds it has processed nothing.
func TestD7_LeaseLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty(t).Store
		w := httptest.NewRecorder()
		var cause error
		do(t, watched{Store: store, noExtend: true}, w, nil, func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			cause = context.Cause(r.Context())
		})
		require.ErrorIs(t, cause, dedupe.ErrLeaseLost)
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.Contains(t, w.Body.String(), `"code":"idempotency_request_abandoned"`)
		again := httptest.NewRecorder()
		do(t, store, again, nil, func(w http.ResponseWriter, r *http.Request) {
			run, _ := dedupe.FromContext(r.Context())
			fmt.Fprint(w, run.Attempt)
		})
		require.Equal(t, "2", again.Body.String())
	})
}

func TestBodies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body   io.Reader
		status int
		want   string
	}{
		{iotest.ErrReader(io.ErrUnexpectedEOF), http.StatusBadRequest, "The body could not be read to its end."},
		{http.MaxBytesReader(nil, io.NopCloser(strings.NewReader("long")), 3), http.StatusRequestEntityTooLarge, "at most"},
		{strings.NewReader("fine"), http.StatusOK, "fine"},
		{nil, http.StatusOK, ""},
	} {
		w := httptest.NewRecorder()
		do(t, newFaulty(t).Store, w, tt.body, func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(w, r.Body); err != nil || r.Body.Close() != nil {
				w.WriteHeader(http.StatusTeapot)
			}
		})
		require.Equal(t, tt.status, w.Code)
		require.Contains(t, w.Body.String(), tt.want)
	}
}

// TestWriteProblem: the form is the service's, the status and Retry-After ours.
func TestWriteProblem(t *testing.T) {
	t.Parallel()
	url := serve(t, func(http.ResponseWriter, *http.Request) {}, httpdedupe.Config{
		Required: true,
		WriteProblem: func(w http.ResponseWriter, _ *http.Request, p httpdedupe.Problem) {
			http.Error(w, p.Code, p.Status)
		},
	})
	a := send(t, url, "", "")
	require.Equal(t, http.StatusBadRequest, a.StatusCode)
	require.Equal(t, "idempotency_key_missing\n", a.body)
}
