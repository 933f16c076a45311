package wmsink_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sinktest"
	"github.com/leat-go/leat/outbox/wmsink"
)

// pubsub is a publisher with its destination, as a sink's Subject: a call of Publish returns when the
// destination answers, whatever becomes of the message's context.
type pubsub struct {
	mu      sync.Mutex
	log     map[string][]outbox.Message
	refused map[string]bool
	dead    bool
	missing bool
	quiet   chan struct{} // answers wait for it
	stuck   chan struct{} // messages wait for it
}

var (
	_ sinktest.Refuser = (*pubsub)(nil)
	_ sinktest.Muter   = (*pubsub)(nil)
	_ sinktest.Staller = (*pubsub)(nil)
	_ sinktest.Misser  = (*pubsub)(nil)
	_ sinktest.Limiter = (*pubsub)(nil)
	_ sinktest.Killer  = (*pubsub)(nil)
)

func newPubsub() *pubsub {
	return &pubsub{log: make(map[string][]outbox.Message), refused: make(map[string]bool), missing: true}
}

// classify is what a user writes for a publisher whose errors DefaultClassify does not know.
func classify(err error) outbox.FailureKind {
	switch {
	case errors.Is(err, outbox.ErrTopicUnavailable):
		return outbox.FailureOutage
	case errors.Is(err, errLarge):
		return outbox.FailurePermanent
	default:
		return wmsink.DefaultClassify(err)
	}
}

var errLarge = errors.New("too large")

const largest = 1 << 20

func (p *pubsub) Sink() (driver.Sink, error) { return wmsink.New(p, wmsink.Config{Classify: classify}) }
func (*pubsub) Topics() [2]string            { return [2]string{"a", "b"} }
func (*pubsub) Missing() string              { return "missing" }
func (*pubsub) TooLarge() int                { return largest + 1 }
func (*pubsub) Close() error                 { return nil }

// Publish implements message.Publisher.
func (p *pubsub) Publish(topic string, msgs ...*message.Message) error {
	for _, msg := range msgs {
		p.mu.Lock()
		stuck := p.stuck
		p.mu.Unlock()
		if stuck != nil {
			<-stuck
		}
		quiet, err := p.take(topic, msg)
		if quiet != nil {
			<-quiet
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *pubsub) take(topic string, msg *message.Message) (quiet <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.dead:
		return nil, errors.New("not connected to AMQP")
	case p.missing && topic == p.Missing():
		return nil, fmt.Errorf("%w: %q", outbox.ErrTopicUnavailable, topic)
	case len(msg.Payload) > largest:
		return nil, errLarge
	case p.refused[msg.UUID]:
		return nil, errPublish
	}
	m, err := outbox.FromWatermill(topic, msg, nil)
	if err != nil {
		return nil, err
	}
	m.Payload, m.Headers = bytes.Clone(m.Payload), maps.Clone(m.Headers)
	if m.OccurredAt, err = time.Parse(time.RFC3339Nano, msg.Metadata.Get(outbox.HeaderEventTime)); err != nil {
		return nil, err
	}
	p.log[topic] = append(p.log[topic], m)
	return p.quiet, nil
}

// change changes p under its lock, and returns what undoes it.
func (p *pubsub) change(do, undo func()) func(context.Context) error {
	locked := func(f func()) {
		p.mu.Lock()
		defer p.mu.Unlock()
		f()
	}
	locked(do)
	return func(context.Context) error {
		locked(undo)
		return nil
	}
}

func (p *pubsub) Arrived(_ context.Context, topic string) ([]outbox.Message, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]outbox.Message(nil), p.log[topic]...), nil
}

func (p *pubsub) Provide(context.Context) error {
	p.change(func() { p.missing = false }, nil)
	return nil
}

func (p *pubsub) Refuse(_ context.Context, _, id string) (func(context.Context) error, error) {
	return p.change(func() { p.refused[id] = true }, func() { delete(p.refused, id) }), nil
}

func (p *pubsub) Mute(context.Context) (func(context.Context) error, error) {
	quiet := make(chan struct{})
	return p.change(func() { p.quiet = quiet }, func() {
		close(quiet)
		p.quiet = nil
	}), nil
}

func (p *pubsub) Stall(context.Context) (func(context.Context) error, error) {
	stuck := make(chan struct{})
	return p.change(func() { p.stuck = stuck }, func() {
		close(stuck)
		p.stuck = nil
	}), nil
}

func (p *pubsub) Kill(context.Context) error {
	p.change(func() { p.dead = true }, nil)
	return nil
}

func (p *pubsub) Revive(context.Context) error {
	p.change(func() { p.dead = false }, nil)
	return nil
}

func TestSink_Conformance(t *testing.T) {
	t.Parallel()
	features := sinktest.Features{NoClose: true}
	sinktest.Run(t, features, func(*testing.T) sinktest.Subject { return newPubsub() })
	sinktest.RunKill(t, features, func(*testing.T) sinktest.Killer { return newPubsub() })
}
