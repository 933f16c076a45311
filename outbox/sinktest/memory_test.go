package sinktest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sinktest"
)

var (
	errRefused  = errors.New("refused")
	errNoTopic  = errors.New("no such topic")
	errTooLarge = errors.New("too large")
)

const limit = 1 << 20

// memory is a destination in memory, whose sink breaks the rules that broken says.
type memory struct {
	broken broken

	mu      sync.Mutex
	dead    bool
	topics  map[string]bool
	refused map[string]bool
	log     map[string][]outbox.Message
	lines   []*line
	known   map[string]bool // what has been sent, for a sink that drops repeats
}

var (
	_ sinktest.Refuser = (*memory)(nil)
	_ sinktest.Muter   = (*memory)(nil)
	_ sinktest.Staller = (*memory)(nil)
	_ sinktest.Misser  = (*memory)(nil)
	_ sinktest.Limiter = (*memory)(nil)
	_ sinktest.Killer  = (*memory)(nil)
)

func newMemory(b broken) *memory {
	return &memory{
		broken: b, topics: map[string]bool{"a": true, "b": true}, refused: make(map[string]bool), log: make(map[string][]outbox.Message), known: make(map[string]bool),
	}
}

func (m *memory) Sink() (driver.Sink, error) { return newFifo(m, m.broken), nil }
func (*memory) Topics() [2]string            { return [2]string{"a", "b"} }
func (*memory) Missing() string              { return "missing" }
func (*memory) TooLarge() int                { return limit + 1 }

func (m *memory) Provide(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.topics[m.Missing()] = true
	return nil
}

func (m *memory) Arrived(_ context.Context, topic string) ([]outbox.Message, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]outbox.Message(nil), m.log[topic]...), nil
}

func (m *memory) Refuse(_ context.Context, _, id string) (func(context.Context) error, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused[id] = true
	return func(context.Context) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.refused, id)
		return nil
	}, nil
}

func (m *memory) Mute(context.Context) (func(context.Context) error, error) {
	return m.harm(func(l *line) { l.muted = true }, (*line).speak), nil
}

func (m *memory) Stall(context.Context) (func(context.Context) error, error) {
	return m.harm(func(l *line) { l.stalled = true }, (*line).flow), nil
}

// harm does something to all lines that there are, and undoes it when the result is called.
func (m *memory) harm(do, undo func(l *line)) func(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := m.lines
	for _, l := range lines {
		do(l)
	}
	return func(context.Context) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, l := range lines {
			undo(l)
		}
		return nil
	}
}

// repeated reports whether name was sent before.
func (m *memory) repeated(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	again := m.known[name]
	m.known[name] = true
	return again
}

func (m *memory) Kill(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
	for _, l := range m.lines {
		l.closed = true
		for _, answer := range l.waiting {
			answer <- io.EOF
		}
		l.waiting = nil
	}
	m.lines = nil
	return nil
}

func (m *memory) Revive(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = false
	return nil
}

// line is a connection: what is written arrives at once and in order, unless it is stalled.
type line struct {
	to      *memory
	closed  bool
	muted   bool
	stalled bool
	kept    []func()     // what is on its way
	late    []func()     // answers that are withheld
	waiting []chan error // who waits for an answer
}

func (m *memory) dial() (*line, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return nil, io.EOF
	}
	l := &line{to: m}
	m.lines = append(m.lines, l)
	return l, nil
}

func (l *line) close() {
	l.to.mu.Lock()
	defer l.to.mu.Unlock()
	l.closed = true
}

// publish writes r and returns where its answer comes.
func (l *line) publish(r *outbox.Record) <-chan error {
	l.to.mu.Lock()
	defer l.to.mu.Unlock()
	answer := make(chan error, 2)
	if l.closed {
		answer <- io.EOF
		return answer
	}
	l.waiting = append(l.waiting, answer)
	message := r.Message
	if !l.to.broken.keepsMemory {
		message.Payload, message.Headers = bytes.Clone(r.Payload), maps.Clone(r.Headers)
	}
	arrive := func() { l.arrive(message, answer) }
	if l.stalled {
		l.kept = append(l.kept, arrive)
	} else {
		arrive()
	}
	return answer
}

// arrive is called with the memory's lock held.
func (l *line) arrive(message outbox.Message, answer chan error) {
	err := l.to.take(message)
	say := func() { answer <- err }
	if l.muted {
		l.late = append(l.late, say)
		return
	}
	say()
}

func (m *memory) take(message outbox.Message) error {
	switch {
	case !m.topics[message.Topic]:
		return fmt.Errorf("%w: %s", errNoTopic, message.Topic)
	case len(message.Payload) > limit:
		return errTooLarge
	case m.refused[message.ID]:
		return errRefused
	}
	m.log[message.Topic] = append(m.log[message.Topic], message)
	return nil
}

func (l *line) speak() {
	l.muted = false
	if !l.closed {
		for _, say := range l.late {
			say()
		}
	}
	l.late = nil
}

func (l *line) flow() {
	l.stalled = false
	if !l.closed {
		for _, arrive := range l.kept {
			arrive()
		}
	}
	l.kept = nil
}
