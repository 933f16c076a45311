package httpsink_test

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/webhooks"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/httpsink"
	"github.com/leat-go/leat/outbox/sinktest"
)

// maxBody is the size of the bodies that the endpoints of the suite take.
const maxBody = 1 << 20

// endpoints are a server with an endpoint a topic, for the suite.
type endpoints struct {
	url   string
	book  *book
	valve faultnet.Valve

	mu      sync.Mutex
	muted   chan struct{}               // nil, or closed when answers are heard again
	arrived map[string][]outbox.Message // by topic
	refused map[string]bool             // by id
	broken  error
}

var (
	_ sinktest.Refuser = (*endpoints)(nil)
	_ sinktest.Muter   = (*endpoints)(nil)
	_ sinktest.Staller = (*endpoints)(nil)
	_ sinktest.Misser  = (*endpoints)(nil)
	_ sinktest.Limiter = (*endpoints)(nil)
)

func newEndpoints(t *testing.T) *endpoints {
	t.Helper()
	e := emptyEndpoints()
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return e.at(server.URL)
}

func emptyEndpoints() *endpoints {
	return &endpoints{book: &book{endpoints: httpsink.Static{}}, arrived: make(map[string][]outbox.Message), refused: make(map[string]bool)}
}

// at gives each topic an endpoint there.
func (e *endpoints) at(address string) *endpoints {
	e.url = address
	for _, topic := range e.Topics() {
		e.provide(topic)
	}
	return e
}

func (e *endpoints) provide(topic string) {
	e.book.mu.Lock()
	defer e.book.mu.Unlock()
	e.book.endpoints[topic] = at(e.url + "/" + url.PathEscape(topic))
}

// Sink implements sinktest.Subject.
func (e *endpoints) Sink() (driver.Sink, error) {
	return httpsink.New(e.book, local(httpsink.Config{Wrap: func(rt http.RoundTripper) http.RoundTripper {
		if t, ok := rt.(*http.Transport); ok {
			t.DialContext = e.dial
			t.MaxConnsPerHost = 1 // or one that is dialled too late to be of use is not stalled
		}
		return rt
	}}))
}

// dial waits while answers are withheld: a request that ends closes its connection, and the next
// one would be answered over another.
func (e *endpoints) dial(ctx context.Context, network, address string) (net.Conn, error) {
	e.mu.Lock()
	muted := e.muted
	e.mu.Unlock()
	if muted != nil {
		select {
		case <-muted:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return e.valve.Dial(ctx, network, address)
}

// Topics implements sinktest.Subject.
func (e *endpoints) Topics() [2]string { return [2]string{"billing", "shipping"} }

// Arrived implements sinktest.Subject.
func (e *endpoints) Arrived(_ context.Context, topic string) ([]outbox.Message, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.arrived[topic]), e.broken
}

// ServeHTTP is the endpoint: it verifies, and notes what a receiver of leat would.
func (e *endpoints) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	m, err := messageOf(r, body)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil:
		e.broken = err
		w.WriteHeader(http.StatusUnauthorized)
	case e.refused[m.ID]:
		w.WriteHeader(http.StatusUnprocessableEntity)
	default:
		e.arrived[m.Topic] = append(e.arrived[m.Topic], m)
	}
}

// messageOf returns the message of a request that was verified.
func messageOf(r *http.Request, body []byte) (m outbox.Message, err error) {
	known, err := webhooks.ParseSecret(secret)
	if err != nil {
		return m, err
	}
	id := r.Header.Get("Webhook-Id")
	if !webhooks.Verify([]webhooks.Secret{known}, id, r.Header.Get("Webhook-Timestamp"), body, r.Header.Get("Webhook-Signature")) {
		return m, httpsink.ErrOff // any error
	}
	headers, err := webhooks.Decode(r.Header)
	if err != nil {
		return m, err
	}
	at, err := time.Parse(time.RFC3339Nano, headers[outbox.HeaderEventTime])
	if err != nil {
		return m, err
	}
	m = outbox.Message{
		ID: id, Topic: strings.TrimPrefix(r.URL.Path, "/"), Key: headers[outbox.HeaderKey], Type: headers[outbox.HeaderEventType],
		Payload: body, OccurredAt: at, Headers: maps.Clone(headers),
	}
	if home := headers[outbox.HeaderEventID]; webhooks.IDOf(home) == id {
		m.ID = home
	}
	maps.DeleteFunc(m.Headers, func(name, _ string) bool { return outbox.ReservedHeader(name) })
	return m, nil
}

// Refuse implements sinktest.Refuser.
func (e *endpoints) Refuse(_ context.Context, _, id string) (func(context.Context) error, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused[id] = true
	return func(context.Context) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.refused, id)
		return nil
	}, nil
}

// Mute implements sinktest.Muter.
func (e *endpoints) Mute(context.Context) (func(context.Context) error, error) {
	muted := make(chan struct{})
	e.mu.Lock()
	e.muted = muted
	e.mu.Unlock()
	hear := e.valve.Mute()
	return released(sync.OnceFunc(func() { hear(); close(muted) })), nil
}

// Stall implements sinktest.Staller.
func (e *endpoints) Stall(context.Context) (func(context.Context) error, error) {
	return released(e.valve.Stall()), nil
}

func released(release func()) func(context.Context) error {
	return func(context.Context) error {
		release()
		return nil
	}
}

// Missing implements sinktest.Misser.
func (e *endpoints) Missing() string { return "missing" }

// Provide implements sinktest.Misser.
func (e *endpoints) Provide(context.Context) error {
	e.provide(e.Missing())
	return nil
}

// TooLarge implements sinktest.Limiter.
func (e *endpoints) TooLarge() int { return maxBody + 1 }

// TestConformance: webhooks keep the whole contract.
func TestConformance(t *testing.T) {
	t.Parallel()
	sinktest.Run(t, sinktest.Features{}, func(t *testing.T) sinktest.Subject {
		t.Helper()
		return newEndpoints(t)
	})
}

// TestHTTP1: over one connection that requests share, a request that was
// given up can arrive behind a later one. That is why the sink speaks HTTP/1.1 alone.
func TestHTTP1(t *testing.T) {
	t.Parallel()
	version := ""
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { version = r.Proto }))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	transport, ok := server.Client().Transport.(*http.Transport)
	require.True(t, ok)
	s := open(t, httpsink.Static{"t": at(server.URL)}, httpsink.Config{TLS: transport.TLSClientConfig})
	require.Equal(t, []string{"ok"}, kinds(s.Send(t.Context(), []outbox.Record{record(1, "a")})))
	require.Equal(t, "HTTP/1.1", version)
}
