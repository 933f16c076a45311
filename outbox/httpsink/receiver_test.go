package httpsink_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/webhooks"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/httpsink"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// arrival is a request that a receiver has got.
type arrival struct {
	path   string
	header http.Header
	body   string
	at     time.Time
}

func (a *arrival) id() string { return a.header.Get("Webhook-Id") }

// receiver is an endpoint that verifies what it gets.
type receiver struct {
	*httptest.Server

	// answer, if it is set, answers instead of 200.
	answer func(w http.ResponseWriter, r *http.Request, a *arrival)

	mu          sync.Mutex
	arrivals    []arrival
	connections int
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	h := req.Header
	known, err := webhooks.ParseSecret(secret)
	if err != nil || !webhooks.Verify([]webhooks.Secret{known}, h.Get("Webhook-Id"), h.Get("Webhook-Timestamp"), body, h.Get("Webhook-Signature")) {
		http.Error(w, "signature", http.StatusUnauthorized)
		return
	}
	a := arrival{path: req.URL.RequestURI(), header: h.Clone(), body: string(body), at: time.Now()}
	r.mu.Lock()
	r.arrivals = append(r.arrivals, a)
	r.mu.Unlock()
	if r.answer != nil {
		r.answer(w, req, &a)
	}
}

func (r *receiver) ids() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for i := range r.arrivals {
		all = append(all, r.arrivals[i].id())
	}
	return all
}

// dialled returns how many connections were made.
func (r *receiver) dialled() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.connections
}

func (r *receiver) last() arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrivals[len(r.arrivals)-1]
}

func receive(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, a *arrival)) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewUnstartedServer(r)
	r.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			r.mu.Lock()
			r.connections++
			r.mu.Unlock()
		}
	}
	r.Start()
	t.Cleanup(r.Close)
	return r
}

// always answers with a status.
func always(status int) func(w http.ResponseWriter, r *http.Request, a *arrival) {
	return func(w http.ResponseWriter, _ *http.Request, _ *arrival) { w.WriteHeader(status) }
}

func loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// local returns cfg for receivers of tests.
func local(cfg httpsink.Config) httpsink.Config {
	cfg.AllowHTTP, cfg.AllowNetworks = true, loopback()
	return cfg
}

func open(t *testing.T, endpoints httpsink.Endpoints, cfg httpsink.Config) *httpsink.Sink {
	t.Helper()
	s, err := httpsink.New(endpoints, local(cfg))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func at(url string) httpsink.Endpoint {
	return httpsink.Endpoint{URL: url, Secrets: []string{secret}}
}

// to returns a sink with one endpoint, called t.
func to(t *testing.T, r *receiver, cfg httpsink.Config) *httpsink.Sink {
	t.Helper()
	return open(t, httpsink.Static{"t": at(r.URL + "/hook?a=b")}, cfg)
}

func record(seq int64, key string) outbox.Record {
	return outbox.Record{
		Message: outbox.Message{ID: fmt.Sprintf("id-%d", seq), Topic: "t", Key: key, Payload: []byte(fmt.Sprintf(`{"n": %d}`, seq))},
		Seq:     seq, CreatedAt: time.Unix(1700000000, 0),
	}
}

func kinds(results []outbox.Result) []string {
	var all []string
	for _, r := range results {
		if r.Err == nil {
			all = append(all, "ok")
			continue
		}
		all = append(all, outbox.KindOf(r.Err).String())
	}
	return all
}

// recorder is a hook.
type recorder struct {
	mu       sync.Mutex
	requests []httpsink.RequestEvent
	gone     []httpsink.GoneEvent
}

var (
	_ httpsink.RequestHook = (*recorder)(nil)
	_ httpsink.GoneHook    = (*recorder)(nil)
)

func (r *recorder) OnHttpsinkRequest(_ context.Context, e httpsink.RequestEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, e)
}

func (r *recorder) OnHttpsinkGone(_ context.Context, e httpsink.GoneEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = append(r.gone, e)
}
