package httpsink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// errPanic is wrapped by the error of a record for which code of the caller has panicked:
// Endpoints, Config.Classify, or the transport of Config.Wrap.
var errPanic = errors.New("leat: a function of the sink's configuration has panicked")

var errClosed = fmt.Errorf("%w: the HTTP sink", outbox.ErrClosed)

// Sink delivers records as webhooks. It is safe for concurrent use.
type Sink struct {
	cfg    Config
	lookup Endpoints
	plain  *http.Transport
	client http.RoundTripper
	slots  chan struct{} // one for each request in flight
	closed atomic.Bool

	mu        sync.Mutex
	endpoints map[string]*endpoint
}

var (
	_ driver.Sink    = (*Sink)(nil)
	_ driver.Checker = (*Sink)(nil)
)

// New returns a Sink that sends to endpoints. Close it after the relay has ended. Errors
// wrap outbox.ErrInvalidConfig; those of a Static name the endpoint.
func New(endpoints Endpoints, cfg Config) (*Sink, error) {
	return newSink(endpoints, cfg, nil)
}

func newSink(endpoints Endpoints, cfg Config, resolver *net.Resolver) (*Sink, error) {
	cfg = cfg.withDefaults()
	if endpoints == nil {
		return nil, outbox.ConfigError("endpoints", nil, "must not be nil")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if static, ok := endpoints.(Static); ok {
		for _, name := range slices.Sorted(maps.Keys(static)) {
			if _, err := cfg.ready(static[name]); err != nil {
				return nil, outbox.ConfigError("endpoints["+strconv.Quote(name)+"]", "…", err.Error())
			}
		}
	}
	s := &Sink{
		cfg: cfg, lookup: endpoints, slots: make(chan struct{}, cfg.MaxConcurrent),
		endpoints: make(map[string]*endpoint),
	}
	s.plain = newTransport(&s.cfg, resolver)
	s.client = s.plain
	if cfg.Wrap != nil {
		if s.client = cfg.Wrap(s.plain); s.client == nil {
			return nil, outbox.ConfigError("Wrap", "func", "returned nil")
		}
	}
	return s, nil
}

// Check implements driver.Checker. Endpoints are independent: an unavailable one says nothing
// about others, so the relay may go on with their records.
func (s *Sink) Check(ctx context.Context) error {
	return context.Cause(ctx)
}

// Refresh forgets the looked-up endpoints called names, or all if there are no names. Endpoints
// that have answered 410 are on again until they answer 410 again, and requested waits end.
func (s *Sink) Refresh(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(names) == 0 {
		clear(s.endpoints)
	}
	for _, name := range names {
		delete(s.endpoints, name)
	}
}

// Close closes idle connections. Requests in flight go on; later records fail as an outage with
// outbox.ErrClosed. It always returns nil.
func (s *Sink) Close() error {
	s.closed.Store(true)
	s.plain.CloseIdleConnections()
	return nil
}
