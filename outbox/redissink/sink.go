package redissink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var errClosed = fmt.Errorf("%w: the Redis sink", outbox.ErrClosed)

// Sink delivers records to Redis Streams. It is safe for concurrent use: each call has its own
// connection while it runs.
type Sink struct {
	server redis.UniversalOptions
	cfg    Config
	calls  sync.WaitGroup // calls in progress

	mu     sync.Mutex
	closed bool
	idle   []*link
}

var (
	_ driver.Sink         = (*Sink)(nil)
	_ driver.Checker      = (*Sink)(nil)
	_ driver.TopicChecker = (*Sink)(nil)
)

// New returns a Sink on the server at server.Addrs, or on the primary called server.MasterName,
// which the sentinels at server.Addrs report. It takes address, credentials, DB, TLS, Dialer,
// OnConnect and DialTimeout from server; it chooses pools, retries, timeouts and the protocol
// itself. Connections of Dialer should have the method SetLinger of a net.TCPConn. A Dialer does
// TLS itself.
//
// It does not connect: Check does, or the first Send. The error wraps outbox.ErrInvalidConfig. The
// caller must Close the Sink.
func New(server *redis.UniversalOptions, cfg Config) (*Sink, error) {
	if err := errors.Join(checkServer(server), cfg.validate()); err != nil {
		return nil, err
	}
	s := &Sink{server: *server, cfg: cfg.withDefaults()}
	s.server.Addrs = slices.Clone(server.Addrs)
	s.server.TLSConfig = server.TLSConfig.Clone()
	return s, nil
}

// take returns a connection for a call. The call must return it with give.
func (s *Sink) take(ctx context.Context) (*link, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed
	}
	s.calls.Add(1)
	var l *link
	if last := len(s.idle) - 1; last >= 0 {
		l, s.idle = s.idle[last], s.idle[:last]
	}
	s.mu.Unlock()
	err := context.Cause(ctx)
	if err == nil && l != nil && !l.answers(ctx) {
		l.close()
		l = nil
	}
	if err == nil && l == nil {
		l, err = s.dial(ctx)
	}
	if err != nil {
		s.give(l)
		return nil, err
	}
	return l, nil
}

// give returns the connection of a call that has ended; l is nil if take got none. A connection that was cut is closed.
func (s *Sink) give(l *link) {
	defer s.calls.Done()
	if l == nil {
		return
	}
	if l.wasCut() {
		l.close()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.used = time.Now()
	s.idle = append(s.idle, l)
}

// Check connects to the server and returns an error if that fails, or if the server cannot
// provide Config.Ack. It is for the start of a program and for health checks.
func (s *Sink) Check(ctx context.Context) error {
	l, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer s.give(l)
	defer l.guard(ctx)()
	if err := l.inspect(ctx, &s.cfg); err != nil {
		l.cut()
		return s.out(err)
	}
	return nil
}

// CheckTopics implements driver.TopicChecker: it returns the topics that are streams, or that
// become one when they are written to. It cannot check the right to write: only sending a record
// shows that.
func (s *Sink) CheckTopics(ctx context.Context, topics []string) (available []string, err error) {
	l, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	defer s.give(l)
	defer l.guard(ctx)()
	kinds := make([]*redis.StatusCmd, len(topics))
	commands, err := l.conn.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, topic := range topics {
			kinds[i] = p.Type(ctx, s.cfg.Prefix+topic)
		}
		return nil
	})
	if err = lost(commands, err); err != nil {
		l.cut()
		return nil, s.out(err)
	}
	for i, kind := range kinds {
		switch found := kind.Val(); {
		case kind.Err() != nil: // only a record shows whether it may be written
			available = append(available, topics[i])
		case found == "stream", found == "none" && !s.cfg.ExistingOnly:
			available = append(available, topics[i])
		}
	}
	return available, nil
}

// Close waits for running calls, which their contexts bound, and closes the connections. It
// always returns nil; more calls do nothing.
func (s *Sink) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.calls.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.idle {
		l.close()
	}
	s.idle = nil
	return nil
}
