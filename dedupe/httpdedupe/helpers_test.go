package httpdedupe_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/httpdedupe"
	"github.com/leat-go/leat/dedupe/memdedupe"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/testenv/fakeredis"
)

//leat:level 1
func TestMain(m *testing.M) {
	testenv.PlayRedis(fakeredis.Start)
	testenv.Main(m)
}

// faulty is a store in memory whose calls fail while an error is set.
type faulty struct {
	*memdedupe.Store

	claimErr, completeErr atomic.Pointer[error]
}

func (f *faulty) Claim(ctx context.Context, k dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
	if err := f.claimErr.Load(); err != nil {
		return dedupe.Claim{}, *err
	}
	return f.Store.Claim(ctx, k, req)
}

func (f *faulty) Complete(ctx context.Context, k dedupe.Key, token string, result []byte) (dedupe.Completion, error) {
	if err := f.completeErr.Load(); err != nil {
		return 0, *err
	}
	return f.Store.Complete(ctx, k, token, result)
}

func newFaulty(t *testing.T) *faulty {
	t.Helper()
	store, err := memdedupe.New(memdedupe.Config{})
	require.NoError(t, err)
	return &faulty{Store: store}
}

func newProcessor(t *testing.T, store dedupe.Store, cfg dedupe.Config) *dedupe.Processor {
	t.Helper()
	cfg.BusyDelay = -1
	p, err := dedupe.New(store, "payments", cfg)
	require.NoError(t, err)
	return p
}

// tenant is the tenant that header X-Tenant names.
func tenant(r *http.Request) (string, error) {
	return r.Header.Get("X-Tenant"), nil
}

// serve returns the address of h behind the middleware.
func serve(t *testing.T, h http.HandlerFunc, cfg httpdedupe.Config) string {
	t.Helper()
	m, err := httpdedupe.New(newProcessor(t, newFaulty(t), dedupe.Config{}), tenant, cfg)
	require.NoError(t, err)
	return listen(t, m(h))
}

func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

type answer struct {
	*http.Response

	body string
}

func (a answer) code(t *testing.T) string {
	t.Helper()
	require.Equal(t, "application/problem+json", a.Header.Get("Content-Type"))
	var p httpdedupe.Problem
	require.NoError(t, json.Unmarshal([]byte(a.body), &p))
	require.Equal(t, a.StatusCode, p.Status)
	return p.Code
}

// send sends a POST of tenant acme; headers are pairs, and replace.
func send(t *testing.T, url, key, body string, headers ...string) answer {
	t.Helper()
	a, err := trySend(t.Context(), url, key, body, headers...)
	require.NoError(t, err)
	return a
}

func trySend(ctx context.Context, url, key, body string, headers ...string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("X-Tenant", "acme")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return answer{res, string(got)}, err
}
