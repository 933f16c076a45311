package relay_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/sinktest"
)

var (
	errTooMuch = errors.New("too much")
	errNoPlace = errors.New("no such topic")
	errNo      = errors.New("no")
	errDead    = errors.New("what the function writes to is unavailable")
)

const mostBytes = 1 << 20

// effects are the effects of the function of a Func. While it is muted, the function answers late, and not
// before its context ends.
type effects struct {
	mu      sync.Mutex
	log     map[string][]outbox.Message
	refused map[string]bool
	missing bool
	dead    bool
	quiet   chan struct{}
}

var (
	_ sinktest.Refuser = (*effects)(nil)
	_ sinktest.Muter   = (*effects)(nil)
	_ sinktest.Misser  = (*effects)(nil)
	_ sinktest.Limiter = (*effects)(nil)
	_ sinktest.Killer  = (*effects)(nil)
)

func (e *effects) Sink() (driver.Sink, error) { return relay.Func(e.take, relay.FuncConfig{}) }
func (*effects) Topics() [2]string            { return [2]string{"a", "b"} }
func (*effects) Missing() string              { return "missing" }
func (*effects) TooLarge() int                { return mostBytes + 1 }

func (e *effects) take(ctx context.Context, r outbox.Record) error {
	quiet, err := e.note(r)
	if quiet == nil {
		return err
	}
	select {
	case <-quiet:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *effects) note(r outbox.Record) (quiet <-chan struct{}, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.dead:
		return nil, outbox.Failed(outbox.FailureOutage, errDead).Err
	case r.Topic == e.Missing() && e.missing:
		return nil, outbox.Failed(outbox.FailureOutage, errors.Join(outbox.ErrTopicUnavailable, errNoPlace)).Err
	case len(r.Payload) > mostBytes:
		return nil, outbox.Failed(outbox.FailurePermanent, errTooMuch).Err
	case e.refused[r.ID]:
		return nil, errNo
	}
	m := r.Message
	m.Payload = slices.Clone(r.Payload)
	m.Headers = maps.Clone(r.Headers)
	e.log[r.Topic] = append(e.log[r.Topic], m)
	return e.quiet, nil
}

func (e *effects) Arrived(_ context.Context, topic string) ([]outbox.Message, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.log[topic]), nil
}

func (e *effects) Provide(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.missing = false
	return nil
}

func (e *effects) Refuse(_ context.Context, _, id string) (func(context.Context) error, error) {
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

func (e *effects) Mute(context.Context) (func(context.Context) error, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	quiet := make(chan struct{})
	e.quiet = quiet
	return func(context.Context) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		close(quiet)
		if e.quiet == quiet {
			e.quiet = nil
		}
		return nil
	}, nil
}

// Kill implements sinktest.Killer: the destination of the function becomes unavailable.
func (e *effects) Kill(context.Context) error { return e.die(true) }

// Revive implements sinktest.Killer.
func (e *effects) Revive(context.Context) error { return e.die(false) }

func (e *effects) die(dead bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dead = dead
	return nil
}

func newEffects() *effects {
	return &effects{log: make(map[string][]outbox.Message), refused: make(map[string]bool), missing: true}
}

// TestFunc_Conformance: a function is called as the contract of sinks requires. It has no connection on
// which a record could be in flight.
func TestFunc_Conformance(t *testing.T) {
	t.Parallel()
	features := sinktest.Features{NoStall: true, NoClose: true}
	sinktest.Run(t, features, func(*testing.T) sinktest.Subject { return newEffects() })
	sinktest.RunKill(t, features, func(*testing.T) sinktest.Killer { return newEffects() })
}
