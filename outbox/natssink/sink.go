package natssink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var errSinkClosed = fmt.Errorf("%w: the NATS sink", outbox.ErrClosed)

// Sink delivers records to JetStream. It is safe for concurrent use: it has one connection, on which calls
// take turns.
type Sink struct {
	url   string
	hosts []string // named in errors
	cfg   Config

	turn   chan struct{} // holds a token while the link is not in use
	link   *link         // nil if there is none
	closed bool
}

var (
	_ driver.Sink         = (*Sink)(nil)
	_ driver.Checker      = (*Sink)(nil)
	_ driver.TopicChecker = (*Sink)(nil)
)

// New returns a Sink on the servers at url, in the format of nats.Connect: one URL, or several
// separated by commas. It does not connect: Check does, or the first Send. The error wraps
// outbox.ErrInvalidConfig. The caller must Close the Sink.
func New(url string, cfg Config) (*Sink, error) {
	if url == "" {
		return nil, outbox.ConfigError("url", `""`, "must be the URL of a server")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Sink{url: url, hosts: hostsOf(url), cfg: cfg.withDefaults(), turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s, nil
}

// take returns the link when it is this call's turn. The caller must return it, unless there was
// an error.
func (s *Sink) take(ctx context.Context) (*link, error) {
	select {
	case <-s.turn:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	err := context.Cause(ctx)
	switch {
	case s.closed:
		err = errSinkClosed
	case err == nil && (s.link == nil || s.link.over()):
		s.drop()
		s.link, err = s.dial(ctx)
	}
	if err != nil {
		s.give()
		return nil, err
	}
	return s.link, nil
}

func (s *Sink) give() { s.turn <- struct{}{} }

// drop closes the connection, if it is open.
func (s *Sink) drop() {
	if s.link != nil {
		s.link.cut()
		s.link = nil
	}
}

// Check connects and asks for JetStream. It is for the start of a program and for health checks.
func (s *Sink) Check(ctx context.Context) error {
	l, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer s.give()
	if _, err := l.js.AccountInfo(ctx); err != nil {
		s.drop()
		return out(s.hosts, fmt.Errorf("JetStream: %w", err))
	}
	return nil
}

// CheckTopics implements driver.TopicChecker: it returns the topics that some stream has. It
// cannot check the right to write, nor whether a stream is full: only sending a record shows
// that.
func (s *Sink) CheckTopics(ctx context.Context, topics []string) (available []string, err error) {
	l, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	defer s.give()
	for _, topic := range topics {
		switch _, err := l.js.StreamNameBySubject(ctx, topic); {
		case err == nil:
			available = append(available, topic)
		case !errors.Is(err, jetstream.ErrStreamNotFound):
			s.drop()
			return nil, out(s.hosts, fmt.Errorf("look for the stream of %q: %w", topic, err))
		}
	}
	return available, nil
}

// Send implements driver.Sink. It returns when the streams have answered, or soon after ctx has ended: then
// the connection is reset.
func (s *Sink) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	c := s.newCall(records)
	if len(records) == 0 {
		return c.results
	}
	l, err := s.take(ctx)
	if err != nil {
		c.results[0] = outbox.Failed(outbox.FailureOutage, err)
		return c.results
	}
	defer s.give()
	stop := context.AfterFunc(ctx, l.cut) // a write may be blocked
	defer stop()
	whole := false
	defer func() {
		if !whole {
			s.drop() // before Send returns: what is in flight must not arrive later
		}
	}()
	if err := c.deliver(ctx, l); err != nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "NATS delivery failed, the connection is replaced", slog.Any("error", err))
		return c.results
	}
	whole = true
	return c.results
}

// Close waits for running calls, which their contexts bound, and closes the connection. It always
// returns nil; more calls do nothing.
func (s *Sink) Close() error {
	<-s.turn
	defer s.give()
	s.closed = true
	s.drop()
	return nil
}
