package httpdedupe_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/httpdedupe"
)

// hosted serves a POST of tenant acme with key k to a target of a host.
func hosted(h http.Handler, host, target string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader("body"))
	r.Host = host
	r.Header.Set("X-Tenant", "acme")
	r.Header.Set("Idempotency-Key", "k")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestD6_MountsAndHostsAreInTheFingerprint: S10. Behind http.StripPrefix two mounts see
// the same path, and of two hosts the same request is two: neither gets the other's
// response.
func TestD6_MountsAndHostsAreInTheFingerprint(t *testing.T) {
	t.Parallel()
	answering := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.RequestURI)) })
	for name, tt := range map[string]struct {
		anyHost bool
		host    string
		target  string
		want    int
	}{
		"the same":               {false, "a.example", "/one/pay?x=1", http.StatusOK},
		"another case of host":   {false, "A.Example", "/one/pay?x=1", http.StatusOK},
		"another port":           {false, "a.example:8080", "/one/pay?x=1", http.StatusOK},
		"another mount":          {false, "a.example", "/two/pay?x=1", http.StatusUnprocessableEntity},
		"another query":          {false, "a.example", "/one/pay?x=2", http.StatusUnprocessableEntity},
		"another host":           {false, "b.example", "/one/pay?x=1", http.StatusUnprocessableEntity},
		"another host, any will": {true, "b.example", "/one/pay?x=1", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := httpdedupe.New(newProcessor(t, newFaulty(t), dedupe.Config{}), tenant, httpdedupe.Config{AnyHost: tt.anyHost})
			require.NoError(t, err)
			mux := http.NewServeMux()
			mux.Handle("/one/", http.StripPrefix("/one", m(answering)))
			mux.Handle("/two/", http.StripPrefix("/two", m(answering)))
			require.Equal(t, http.StatusOK, hosted(mux, "a.example", "/one/pay?x=1").Code)
			w := hosted(mux, tt.host, tt.target)
			require.Equal(t, tt.want, w.Code)
			if tt.want == http.StatusOK {
				require.Equal(t, "true", w.Header().Get("Idempotency-Replayed"))
			}
		})
	}
}

// TestReplaysAreAsProtected: S10. What tells a browser how to treat a response comes
// with its replay; what belongs to the one request does not.
func TestReplaysAreAsProtected(t *testing.T) {
	t.Parallel()
	kept := map[string]string{
		"Content-Security-Policy": "script-src 'nonce-1'", "Strict-Transport-Security": "max-age=1", "X-Content-Type-Options": "nosniff",
		"X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Vary": "Origin",
	}
	lost := map[string]string{"Set-Cookie": "a=b", "X-Request-Id": "1", "Access-Control-Allow-Origin": "https://a.example"}
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, headers := range []map[string]string{kept, lost} {
			for name, value := range headers {
				w.Header().Set(name, value)
			}
		}
		w.WriteHeader(http.StatusCreated)
	}, httpdedupe.Config{})
	send(t, url, "k", "")
	again := send(t, url, "k", "")
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	for name, value := range kept {
		require.Equal(t, value, again.Header.Get(name), name)
	}
	for name := range lost {
		require.Empty(t, again.Header.Get(name), name)
	}
}

// TestAdmitBoundsATenant: S10.
func TestAdmitBoundsATenant(t *testing.T) {
	t.Parallel()
	store := newFaulty(t)
	m, err := httpdedupe.New(newProcessor(t, store, dedupe.Config{}), tenant, httpdedupe.Config{
		Admit: func(_ *http.Request, scope string) error {
			if scope == "acme" {
				return errors.New("over its share")
			}
			return nil
		},
	})
	require.NoError(t, err)
	url := listen(t, m(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	a := send(t, url, "k", "")
	require.Equal(t, "idempotency_too_many_requests", a.code(t))
	require.Equal(t, http.StatusTooManyRequests, a.StatusCode)
	require.Equal(t, "1", a.Header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, send(t, url, "k", "", "X-Tenant", "globex").StatusCode)
}
