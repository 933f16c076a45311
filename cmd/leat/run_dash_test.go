package main_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/httpsink"
)

// dashboardOf is a file of a daemon that shows its stores.
const dashboardOf = `
outboxes: [{name: shop, maintenance: {}}]
inboxes: [{name: in}]
http: {listen: '127.0.0.1:0', dashboard: {bearer: 'TOKENS'}}
`

// tokenLine lets name sign in by token as an operator.
func tokenLine(name, token string) string {
	sum := sha256.Sum256([]byte(token))
	return name + ":" + hex.EncodeToString(sum[:]) + ":operator\n"
}

// fetches waits until a page answers with code to who has a token.
func (r *running) fetches(path, token string, code int) string {
	r.t.Helper()
	var body string
	r.eventually("answers "+path, func() bool {
		var got int
		got, body = fetch(r.t, http.MethodGet, r.url+path, "", "Authorization", "Bearer "+token)
		return got == code
	})
	return body
}

// A daemon shows its stores beside the probes: the probes to everybody, all else to who has
// signed in, whom the audit names. It takes new tokens while it runs.
func TestRun_Dashboard(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.trouble(t)
	s.consume(t)
	tokens := written(t, "tokens", tokenLine("ci", "first"))
	o := newSession(t, s.URL)
	d := o.begin("run", "--config", written(t, "leat.yaml", strings.Replace(dashboardOf, "TOKENS", tokens, 1)))
	d.answers("/readyz", 200)
	d.answers("/livez", 200)
	d.is(daemon.StateLeader, "maintenance", "shop", "")

	for _, path := range []string{"/", "/groups", "/parked", "/messages/1", "/inboxes", "/audit", "/api/v1/status", "/api/v1/audit", "/api/v1/stream"} {
		code, _ := d.get(path)
		require.Equal(t, http.StatusUnauthorized, code, path)
	}
	for _, path := range []string{"/livez/", "/x/livez", "/livez%2f", "/statusz;x", "/api/v1/livez"} {
		code, _ := d.get(path)
		require.Equal(t, http.StatusNotFound, code, path)
	}
	for _, path := range []string{"/", "/groups", "/messages/1", "/inboxes", "/retention"} {
		require.Contains(t, d.fetches(path, "first", http.StatusOK), "<html", path)
	}
	status := d.fetches("/api/v1/status", "first", http.StatusOK)
	require.Contains(t, status, `"name":"shop"`)
	require.Contains(t, status, `"name":"in"`)
	code, body := fetch(t, http.MethodPost, d.url+"/api/v1/groups:pause", `{"group":"default","reason":"INC-42"}`,
		"Content-Type", "application/json", "Authorization", "Bearer first")
	require.Equal(t, http.StatusOK, code, body)
	audit := d.fetches("/api/v1/audit?limit=1", "first", http.StatusOK)
	require.Contains(t, audit, `"actor":"ci","reason":"INC-42"`)
	require.Contains(t, audit, `"mode":"bearer"`)

	require.NoError(t, os.WriteFile(tokens, []byte("no hash"), 0o600))
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
	d.eventually("refuses what is wrong", func() bool { return strings.Contains(d.log.String(), "not reloaded") })
	d.fetches("/groups", "first", http.StatusOK)
	require.NoError(t, os.WriteFile(tokens, []byte(tokenLine("ci", "second")), 0o600))
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
	d.fetches("/groups", "second", http.StatusOK)
	d.fetches("/groups", "first", http.StatusUnauthorized)
	require.Zero(t, d.ends(syscall.SIGTERM), d.log)
}

// On this machine, and without a sign-in, whoever asks is who has started the daemon.
// Nothing can be changed if the file says so.
func TestRun_Dashboard_ReadOnly(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := newSession(t, s.URL)
	d := o.begin("run", "--config", written(t, "leat.yaml", `
outboxes: [{name: shop, maintenance: {}}]
http: {listen: '127.0.0.1:0', dashboard: {base: /ops/, read_only: true, allow: [viewer]}}
`))
	_, body := d.get("/ops/api/v1/me")
	require.Contains(t, body, `"actor":"ann","roles":["viewer"]`)
	code, _ := d.get("/api/v1/me")
	require.Equal(t, http.StatusNotFound, code)
	code, _ = fetch(t, http.MethodPost, d.url+"/ops/api/v1/groups:pause", `{"group":"default","reason":"INC-42"}`, "Content-Type", "application/json")
	require.Equal(t, http.StatusNotFound, code)
	code, _ = d.get("/ops/groups")
	require.Equal(t, http.StatusOK, code)
}

// A daemon's dashboard shows which destinations its relays hold back from.
//
//leat:level 2
func TestRun_Dashboard_Breakers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var out atomic.Bool
	out.Store(true)
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if out.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(shop.Close)
	d := newSession(t, s.URL).begin("run", "--config", written(t, "leat.yaml", `
http: {listen: '127.0.0.1:0', dashboard: {}}
outboxes:
  - name: shop
    relays:
      - backoff_max: 100ms
        sink: {http: {allow_http: true, allow_networks: [127.0.0.0/8], endpoints: {orders: {url: '`+shop.URL+`', secrets: ['`+httpsink.NewSecret()+`']}}}}
`))
	s.enqueue(t, placed("m-1", "orders", "k", "fine"))
	d.is(daemon.StateDegraded, "relay", "shop", "default")
	d.eventually("shows what is out", func() bool {
		_, page := d.get("/groups?group=default")
		return strings.Contains(page, `<span class="key">orders</span>`)
	})
	out.Store(false)
	d.is(daemon.StateLeader, "relay", "shop", "default")
	_, answer := d.get("/api/v1/groups")
	require.Contains(t, answer, `"breakers":[]`)
}

// What the file says is hidden is left out of pages, of answers and of downloads.
func TestRun_Dashboard_Hides(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(t, outbox.Message{
		ID: "m-1", Topic: "orders", Key: "order-1", Payload: []byte(`{"customer":{"email":"bob@example.com"},"total":3}`),
		Headers: map[string]string{"x-account": "acc-4711", "x-trace": "seen"},
	})
	d := newSession(t, s.URL).begin("run", "--config", written(t, "leat.yaml", `
outboxes: [{name: shop, maintenance: {}}]
http: {listen: '127.0.0.1:0', dashboard: {hide_headers: ['x-acc*'], hide_paths: [customer.email]}}
`))
	for _, path := range []string{"/messages/1", "/api/v1/messages/1", "/api/v1/messages/1/payload"} {
		code, body := d.get(path)
		require.Equal(t, http.StatusOK, code, body)
		require.NotContains(t, body, "acc-4711", path)
		require.NotContains(t, body, "bob@example.com", path)
		require.Contains(t, body, "total", path)
	}
	_, page := d.get("/messages/1")
	require.Contains(t, page, "seen")
	require.Contains(t, page, "x-account", "the name is shown, and the value is not")
}
