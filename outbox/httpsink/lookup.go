package httpsink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/leat-go/leat/outbox"
)

// endpoint is the Sink's state of an endpoint.
type endpoint struct {
	name string

	mu        sync.Mutex
	target    *target
	until     time.Time     // when target must be looked up again
	turns     chan struct{} // one for each request in flight, target.Concurrency at most
	next      time.Time     // when the next request may begin, by target.Rate
	notBefore time.Time     // when the endpoint asked to be called again
	gone      string        // the URL that has answered 410
}

// find returns the endpoint called name, looked up not longer than LookupEvery ago. Its
// errors are outages of the topic; that of an endpoint which cannot be used wraps
// outbox.ErrTopicUnavailable.
func (s *Sink) find(ctx context.Context, name string) (*endpoint, *target, error) {
	if s.closed.Load() {
		return nil, nil, errClosed
	}
	s.mu.Lock()
	e := s.endpoints[name]
	s.mu.Unlock()
	if e != nil {
		if t := e.current(); t != nil {
			return e, t, nil
		}
	}
	t, err := s.ask(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e = s.endpoints[name]; e == nil {
		e = &endpoint{name: name}
		s.endpoints[name] = e
	}
	e.renew(t, s.cfg.LookupEvery)
	return e, t, nil
}

// ask asks Endpoints. Unknown names are not remembered: producers can use any number of topics.
func (s *Sink) ask(ctx context.Context, name string) (t *target, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = s.panicked(ctx, name, p)
		}
	}()
	found, err := s.lookup.Endpoint(ctx, name)
	switch {
	case errors.Is(err, ErrNoEndpoint):
		s.Refresh(name)
		return nil, fmt.Errorf("%w: endpoint %.200q: %w", outbox.ErrTopicUnavailable, name, err)
	case err != nil:
		return nil, fmt.Errorf("look up endpoint %.200q: %w", name, err)
	}
	if t, err = s.cfg.ready(found); err != nil {
		return nil, fmt.Errorf("%w: endpoint %.200q: %w", outbox.ErrTopicUnavailable, name, err)
	}
	return t, nil
}

func (s *Sink) panicked(ctx context.Context, name string, p any) error {
	s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "a function of the sink's configuration has panicked",
		slog.String("endpoint", name), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	return fmt.Errorf("%w: endpoint %.200q: %v", errPanic, name, p)
}

// current returns the target, or nil if it must be looked up.
func (e *endpoint) current() *target {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Now().Before(e.until) {
		return e.target
	}
	return nil
}

// renew stores a target that was looked up. An endpoint that was gone stays off until it has
// another URL.
func (e *endpoint) renew(t *target, every time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.turns == nil || cap(e.turns) != t.Concurrency {
		e.turns = make(chan struct{}, t.Concurrency)
	}
	if e.gone != t.URL {
		e.gone = ""
	}
	e.target, e.until = t, time.Now().Add(every)
}

// off returns an error that wraps ErrOff if t gets no records.
func (e *endpoint) off(t *target) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case t.Off:
		return fmt.Errorf("%w: %.200q was switched off", ErrOff, e.name)
	case e.gone == t.URL:
		return fmt.Errorf("%w: %.200q has answered 410", ErrOff, e.name)
	default:
		return nil
	}
}

// leave notes that the URL of t has answered 410, and reports whether that is new.
func (e *endpoint) leave(t *target) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone == t.URL {
		return false
	}
	e.gone = t.URL
	return true
}

// rest stops requests to the endpoint for wait from now.
func (e *endpoint) rest(wait time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if until := time.Now().Add(wait); until.After(e.notBefore) {
		e.notBefore = until
	}
}

// resting returns an error while the endpoint asked not to be called.
func (e *endpoint) resting() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Now().Before(e.notBefore) {
		return fmt.Errorf("endpoint %.200q asked to wait until %s", e.name, e.notBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// reserve returns when the rate allows the next request to begin, and takes that slot. It is
// false if that would be after late; a zero late means no limit.
func (e *endpoint) reserve(rate float64, late time.Time) (time.Time, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := time.Now()
	if rate == 0 {
		return at, true
	}
	if e.next.After(at) {
		at = e.next
	}
	if !late.IsZero() && at.After(late) {
		return at, false
	}
	e.next = at.Add(time.Duration(float64(time.Second) / rate))
	return at, true
}
