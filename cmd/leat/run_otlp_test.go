package main_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/httpsink"
)

const tracing = `
outboxes:
  - name: shop
    relays: [{sink: {http: {allow_http: true, allow_networks: [127.0.0.0/8], endpoints: {orders: {url: '%s', secrets: ['%s']}}}}}]
http: {listen: '127.0.0.1:0'}
otlp: {endpoint: '%s'}
`

// spans is a collector, which takes nothing at first.
type spans struct {
	takes    atomic.Bool
	asked    atomic.Int64
	mu       sync.Mutex
	received []*traces.Span
}

func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	body, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || !s.takes.Load() || proto.Unmarshal(body, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			s.received = append(s.received, scope.GetSpans()...)
		}
	}
}

func (s *spans) all() []*traces.Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received
}

// A collector gets a span of each attempt to publish, in the trace of the producer. One that
// takes none holds nothing up, and is told of once.
//
//leat:level 2
func TestRun_OTLP(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var delivered atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { delivered.Add(1) }))
	t.Cleanup(receiver.Close)
	collecting := &spans{}
	server := httptest.NewServer(collecting)
	t.Cleanup(server.Close)
	o := newSession(t, s.URL)
	o.env = append(o.env, "OTEL_BSP_SCHEDULE_DELAY=50")
	r := o.begin("run", "--config", written(t, "leat.yaml", fmt.Sprintf(tracing, receiver.URL, httpsink.NewSecret(), server.URL)))
	place := func(id string) {
		t.Helper()
		before := delivered.Load()
		s.enqueue(t, outbox.Message{ID: id, Topic: "orders", Payload: []byte("x"), Headers: map[string]string{
			"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		}})
		r.eventually("is delivered", func() bool { return delivered.Load() > before })
	}
	for n := range int64(2) {
		place(fmt.Sprintf("lost-%d", n))
		r.eventually("the collector is asked", func() bool { return collecting.asked.Load() > n })
	}
	const lost = "spans are lost until the collector takes them again"
	r.eventually("the loss is told", func() bool { return strings.Contains(r.log.String(), lost) })
	collecting.takes.Store(true)
	place("m-1")
	r.eventually("the span comes", func() bool { return len(collecting.all()) > 0 })
	r.eventually("that is told", func() bool { return strings.Contains(r.log.String(), "the collector takes spans again") })
	require.Equal(t, 1, strings.Count(r.log.String(), lost), "once")
	span := collecting.all()[len(collecting.all())-1]
	require.Equal(t, "publish orders", span.GetName())
	require.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", hex.EncodeToString(span.GetTraceId()))
	require.Equal(t, "00f067aa0ba902b7", hex.EncodeToString(span.GetParentSpanId()))
	require.Zero(t, r.ends(syscall.SIGTERM))
}
