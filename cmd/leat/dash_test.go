package main_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// dash serves the dashboard until the test ends, and returns its address.
func (s *session) dash(args ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), patience) // cleanups run after the end of it
	cmd := exec.CommandContext(ctx, os.Getenv(binaryVariable), append([]string{"dash", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = s.env
	out, err := cmd.StdoutPipe()
	require.NoError(s.t, err)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	require.NoError(s.t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(s.t, err, complaint.String())
	s.t.Cleanup(func() {
		defer cancel()
		require.NoError(s.t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(s.t, cmd.Wait(), complaint.String())
	})
	return strings.TrimPrefix(strings.TrimSpace(line), "dashboard at ")
}

func fetch(t *testing.T, method, url, body string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// On this machine whoever asks is the operator who has started it; an open stream does not keep
// it from ending.
func TestDash(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.trouble(t)
	s.consume(t)
	var stream *http.Response
	t.Cleanup(func() { _ = stream.Body.Close() }) // after the server has ended
	at := newSession(t, s.URL).dash()
	for _, page := range []string{"", "groups", "parked", "dead?group=mail", "delayed", "messages", "messages/1", "inboxes", "inboxes/consumer?consumer=loyalty", "retention", "audit", "api/v1/ranges"} {
		code, body := fetch(t, http.MethodGet, at+page, "")
		require.Equal(t, http.StatusOK, code, "%s: %s", page, body)
	}
	_, body := fetch(t, http.MethodGet, at+"api/v1/status", "")
	require.Contains(t, body, `"parked":3`)
	code, _ := fetch(t, http.MethodPost, at+"api/v1/groups:pause", `{"group":"default","reason":"INC-42"}`, "Content-Type", "application/json")
	require.Equal(t, http.StatusOK, code)
	_, body = fetch(t, http.MethodGet, at+"api/v1/audit?limit=1", "")
	require.Contains(t, body, `"actor":"ann","reason":"INC-42"`)
	require.Contains(t, body, `"mode":"loopback"`)
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, at+"api/v1/stream", nil)
	require.NoError(t, err)
	stream, err = http.DefaultClient.Do(r)
	require.NoError(t, err)
}

// The dashboard of a file has all of its outboxes and inboxes by their names, wherever they are, and --outbox shows one.
func TestDash_File(t *testing.T) {
	t.Parallel()
	s, other := newShopWithout(t), newShopWithout(t)
	o := newSession(t, "")
	o.env = append(o.env, "LEAT_CONFIG="+written(t, "leat.yaml", fmt.Sprintf(`
outboxes:
  - {name: shop, database: '%[1]s', relays: [{sink: {kafka: {}}}]}
  - {name: billing, database: '%[1]s', table: billing, relays: [{sink: {kafka: {}}}]}
  - {name: stock, database: '%[2]s', relays: [{sink: {kafka: {}}}]}
inboxes: [{name: loyalty, database: '%[2]s'}]
kafka: {brokers: '127.0.0.1:1', password: '${env:ONLY_THE_DAEMON_HAS_IT}'}
`, s.URL, other.URL)))
	up := o.leat("migrate", "up", "--yes")
	require.Zero(t, up.code, up.err)
	other.enqueue(t, placed("m-1", "stock.counted", "shelf-1", "1"))
	at := o.dash()
	_, body := fetch(t, http.MethodGet, at+"api/v1/status", "")
	for _, name := range []string{"shop", "billing", "stock", "loyalty"} {
		require.Contains(t, body, `"name":"`+name+`","at":`)
	}
	require.NotContains(t, body, `"failed":true`)
	_, page := fetch(t, http.MethodGet, at+"messages", "")
	require.Contains(t, page, "stock.counted")
	require.Contains(t, page, "All outboxes</span>")
	_, body = fetch(t, http.MethodGet, o.dash("--outbox", "billing")+"api/v1/status", "")
	require.Contains(t, body, `"outboxes":[{"name":"billing","at":`)
	require.NotContains(t, body, `"name":"shop"`)
	wrong := o.leat("dash", "--outbox", "typo")
	require.Equal(t, 2, wrong.code)
	require.Contains(t, wrong.err, `"shop" "billing" "stock"`)
}

// Beyond this machine nobody sees anything who has not signed in.
func TestDash_SignIn(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := newSession(t, s.URL)
	for _, args := range [][]string{
		{"--listen", "0.0.0.0:0"}, {"--listen", ":0"}, {"--listen", "[::]:0"}, {"--listen", "192.0.2.1:0"},
	} {
		r := o.leat(append([]string{"dash"}, args...)...)
		require.Equal(t, 2, r.code, args)
		require.Contains(t, r.err, "needs --basic, --bearer or --proxy-peer")
	}
	for _, host := range []string{"*", "shop.internal", "localhost,127.0.0.1.nip.io"} {
		r := o.leat("dash", "--host", host)
		require.Equal(t, 2, r.code, host)
		require.Contains(t, r.err, "--host")
		require.Contains(t, r.err, "needs --basic, --bearer or --proxy-peer")
	}
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	sum := sha256.Sum256([]byte("t0ken"))
	tokens := write("tokens", "# programs\nci:"+hex.EncodeToString(sum[:])+":viewer\n")
	r := o.leat("dash", "--listen", "0.0.0.0:0", "--bearer", tokens)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.err, "needs --host")

	at := o.dash("--bearer", tokens, "--proxy-peer", "127.0.0.1", "--proxy-role", "sre=admin")
	code, _ := fetch(t, http.MethodGet, at, "")
	require.Equal(t, http.StatusUnauthorized, code)
	code, _ = fetch(t, http.MethodGet, at+"api/v1/me", "", "Authorization", "Bearer wrong")
	require.Equal(t, http.StatusUnauthorized, code)
	_, body := fetch(t, http.MethodGet, at+"api/v1/me", "", "Authorization", "Bearer t0ken")
	require.Contains(t, body, `"actor":"ci","roles":["viewer"]`)
	_, body = fetch(t, http.MethodGet, at+"api/v1/me", "", "X-Forwarded-User", "eve", "X-Forwarded-Groups", "all, sre")
	require.Contains(t, body, `"actor":"eve","roles":["admin"]`)
}
