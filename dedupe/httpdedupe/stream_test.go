package httpdedupe_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe/httpdedupe"
)

// waitFor and tick are for what comes soon, on a machine that is busy.
const (
	waitFor = 30 * time.Second
	tick    = 10 * time.Millisecond
)

// TestStreams: a response that is flushed goes out as it is written, counts as
// done, and is not kept.
func TestStreams(t *testing.T) {
	t.Parallel()
	leave := make(chan struct{})
	var runs atomic.Int32
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		runs.Add(1)
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, "begun\n")
		flusher, ok := w.(http.Flusher)
		if !ok {
			panic(http.ErrAbortHandler)
		}
		flusher.Flush()
		<-leave
		fmt.Fprint(w, "ended\n")
		w.Header().Set("X-Sum", "2")
	}, httpdedupe.Config{})

	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, http.NoBody)
	require.NoError(t, err)
	req.Header.Set("X-Tenant", "acme")
	req.Header.Set("Idempotency-Key", "k")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "begun\n", line, "while the handler still runs")
	require.Equal(t, "idempotency_key_in_flight", send(t, url, "k", "").code(t))
	close(leave)
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Equal(t, "ended\n", string(rest))
	require.Equal(t, "2", res.Trailer.Get("X-Sum"))

	require.Eventually(t, func() bool { return send(t, url, "k", "").StatusCode == http.StatusGone }, waitFor, tick)
	again := send(t, url, "k", "")
	require.Equal(t, "idempotency_response_not_kept", again.code(t))
	require.Contains(t, again.body, `"original_status":202`)
	require.Contains(t, again.body, `"detail":"The request was processed; its response was not kept."`)
	require.EqualValues(t, 1, runs.Load())
}

// TestTooLargeIsStreamed: up to the bound a response is kept, above it is not.
func TestTooLargeIsStreamed(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for range 2 {
			if _, err := io.WriteString(w, r.URL.Query().Get("half")); err != nil {
				panic(http.ErrAbortHandler)
			}
		}
	}, httpdedupe.Config{MaxResponseBytes: 64})
	for n, status := range map[int]int{32: http.StatusOK, 33: http.StatusGone} {
		target := fmt.Sprintf("%s?half=%s", url, strings.Repeat("x", n))
		key := strconv.Itoa(n)
		require.Equal(t, strings.Repeat("x", 2*n), send(t, target, key, "").body)
		require.Equal(t, status, send(t, target, key, "").StatusCode)
	}
}

// TestHijack: a connection that the handler takes over is its own.
func TestHijack(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 299 Mine\r\nContent-Length: 0\r\n\r\n")
		_ = rw.Flush()
	}, httpdedupe.Config{})
	require.Equal(t, 299, send(t, url, "k", "").StatusCode)
	require.Eventually(t, func() bool { return send(t, url, "k", "").StatusCode == http.StatusGone }, waitFor, tick)
}

// TestWriter: the corners of http.ResponseWriter.
func TestWriter(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/nothing":
		case "/hints":
			w.Header().Set("Link", "</style.css>")
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Del("Link")
			w.WriteHeader(http.StatusOK)
			w.WriteHeader(http.StatusTeapot)
		case "/bodyless":
			w.WriteHeader(http.StatusNoContent)
			if _, err := w.Write([]byte("x")); err == nil {
				panic(http.ErrAbortHandler)
			}
		case "/deadline":
			if http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Hour)) != nil {
				panic(http.ErrAbortHandler)
			}
		case "/status":
			w.WriteHeader(7)
		case "/trailer":
			fmt.Fprint(w, "body")
			w.Header().Set(http.TrailerPrefix+"X-Sum", "4")
		}
	}, httpdedupe.Config{})
	for path, status := range map[string]int{"/nothing": 200, "/hints": 200, "/bodyless": 204, "/deadline": 200} {
		for range 2 {
			a := send(t, url+path, path[1:], "")
			require.Equal(t, status, a.StatusCode, path)
			require.Empty(t, a.body)
			require.Empty(t, a.Header.Get("Link"))
		}
	}
	for range 2 {
		_, err := trySend(t.Context(), url+"/status", "status", "")
		require.Error(t, err, "net/http panics, before anything is recorded")
	}
	require.Equal(t, "body", send(t, url+"/trailer", "trailer", "").body)
}
