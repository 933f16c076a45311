package httpdedupe_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/httpdedupe"
	"github.com/leat-go/leat/dedupe/memdedupe"
)

const (
	benchRequest = `{"amount": 1200, "currency": "EUR", "order": "4711"}`
	benchReply   = `{"payment": "0190163d-8694-739b-aea5-966c26f8ad91", "status": "accepted"}`
)

// benchHandler answers as one that makes a payment. It is behind the middleware where
// protected is true.
func benchHandler(b *testing.B, protected bool) http.Handler {
	b.Helper()
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(benchReply))
	})
	if !protected {
		return handler
	}
	store, err := memdedupe.New(memdedupe.Config{})
	require.NoError(b, err)
	p, err := dedupe.New(store, "payments", dedupe.Config{BusyDelay: -1})
	require.NoError(b, err)
	m, err := httpdedupe.New(p, httpdedupe.OneTenant, httpdedupe.Config{})
	require.NoError(b, err)
	return m(handler)
}

// BenchmarkMiddleware serves requests, without a network, on a store in memory. Bare
// is what the request, its recorder and the handler cost without the middleware.
func BenchmarkMiddleware(b *testing.B) {
	for _, bench := range []struct {
		name             string
		protected, keyed bool
		again            bool
	}{
		{"bare", false, true, false},
		{"no-key", true, false, false},
		{"first", true, true, false},
		{"repeat", true, true, true},
	} {
		b.Run(bench.name, func(b *testing.B) {
			handler := benchHandler(b, bench.protected)
			serve := func(key string) *httptest.ResponseRecorder {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/payments", strings.NewReader(benchRequest))
				if bench.keyed {
					r.Header.Set("Idempotency-Key", key)
				}
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				return w
			}
			serve("known")
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				key := "known"
				if !bench.again {
					key = strconv.Itoa(n)
				}
				w := serve(key)
				if w.Code != http.StatusCreated || w.Body.String() != benchReply || (w.Header().Get("Idempotency-Replayed") != "") != bench.again {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}
