package amqpsink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var errClosed = fmt.Errorf("%w: the AMQP sink", outbox.ErrClosed)

const (
	// closeTimeout bounds the closing handshake with the broker.
	closeTimeout = 2 * time.Second

	// dialTimeout bounds connecting if the context has no deadline.
	dialTimeout = 30 * time.Second
)

// Sink delivers records to RabbitMQ. It is safe for concurrent use; its methods wait for each
// other.
type Sink struct {
	urls   []string
	hosts  []string // named in errors
	cfg    Config
	closed atomic.Bool
	taken  chan struct{} // locked by every method; guards what follows

	link    *link // nil after a failure
	next    int   // the URL to try
	learned learned
	careful bool // the broker has closed a channel because of an unknown record: send one at a time
}

var (
	_ driver.Sink         = (*Sink)(nil)
	_ driver.Checker      = (*Sink)(nil)
	_ driver.TopicChecker = (*Sink)(nil)
)

// New returns a Sink on the brokers of one cluster, such as amqp://user:password@host:5672/vhost.
// They are tried in turn, each for its share of the remaining time. It does not connect: Check
// does, or the first Send. The error wraps outbox.ErrInvalidConfig. The caller must Close the
// Sink.
func New(urls []string, cfg Config) (*Sink, error) {
	if err := errors.Join(checkURLs(urls), cfg.validate()); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	return &Sink{
		urls: slices.Clone(urls), hosts: hostsOf(urls), cfg: cfg, taken: make(chan struct{}, 1),
		learned: learned{now: time.Now, refused: make(map[target]refusal)},
	}, nil
}

// take waits for the sink, at most until ctx has ended.
func (s *Sink) take(ctx context.Context) error {
	select {
	case s.taken <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := ctx.Err(); err != nil {
		s.free()
		return err
	}
	if s.closed.Load() {
		s.free()
		return errClosed
	}
	return nil
}

func (s *Sink) free() { <-s.taken }

// Check connects to a broker and returns an error if that fails, or if Config.Exchange does not
// exist, unless Config.Declare declares it. It is for the start of a program and for health
// checks.
func (s *Sink) Check(ctx context.Context) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.free()
	l, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer s.guard(ctx, l)()
	if s.cfg.Declare == nil {
		_, err = s.missing(l, s.cfg.Exchange)
	}
	return err
}

// CheckTopics implements driver.TopicChecker: it returns the topics whose exchange, or queue with
// Config.Queues, exists or was declared by Config.Declare. It cannot find out whether something
// is bound to an exchange, nor whether the sink may write to it: only sending a record shows
// that. If ctx ends or the connection is lost after it has found some, it returns those, and no
// error.
func (s *Sink) CheckTopics(ctx context.Context, topics []string) (available []string, err error) {
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.free()
	l, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer s.guard(ctx, l)()
	for _, topic := range topics {
		// Only a record can show whether this has changed.
		delete(s.learned.refused, target{exchange: s.exchange(topic), whole: true})
		question := s.missing
		name := s.exchange(topic)
		if s.cfg.Queues {
			question, name = s.missingQueue, topic
		}
		if s.cfg.Declare != nil {
			delete(l.declared, topic)
			question = func(l *link, _ string) (bool, error) {
				err := s.declare(l, topic)
				return err != nil && l.alive(), err
			}
		}
		switch missing, err := question(l, name); {
		case missing:
		case err == nil:
			available = append(available, topic)
		case len(available) > 0:
			return available, nil // the others have their turn in the next call
		default:
			return nil, err
		}
	}
	return available, nil
}

// Close waits for a running Send, which its context bounds, and closes the connection. It always
// returns nil; more calls do nothing.
func (s *Sink) Close() error {
	s.closed.Store(true)
	s.taken <- struct{}{}
	defer s.free()
	if s.link != nil {
		_ = s.link.conn.CloseDeadline(time.Now().Add(closeTimeout)) // it is closed in any case
		s.drop()
	}
	return nil
}

// drop closes the connection, so that as little as possible of what was written to it arrives
// later.
func (s *Sink) drop() {
	if s.link != nil {
		s.link.cut()
		s.link.wait()
		s.link = nil
	}
}

// connect ensures that there is a connection.
func (s *Sink) connect(ctx context.Context) (*link, error) {
	if s.link != nil && !s.link.alive() {
		s.drop()
	}
	if s.link != nil {
		return s.link, nil
	}
	var failed error
	for left := len(s.urls); left > 0 && ctx.Err() == nil; left-- {
		l, err := s.dialNext(ctx, left)
		if err == nil {
			s.link = l
			return l, nil
		}
		if failed != nil {
			err = fmt.Errorf("%w; %w", failed, err)
		}
		failed = err
		s.next = (s.next + 1) % len(s.urls) // even if ctx has ended: the next call starts with another broker
	}
	if failed == nil {
		failed = context.Cause(ctx)
	}
	return nil, s.out(failed)
}

// dialNext connects to the next broker in turn. A silent broker only takes its share of the time,
// if others are left to try.
func (s *Sink) dialNext(ctx context.Context, left int) (*link, error) {
	share := dialTimeout
	if end, ok := ctx.Deadline(); ok {
		share = time.Until(end) / time.Duration(left)
	}
	ctx, cancel := context.WithTimeout(ctx, share)
	defer cancel()
	return dial(ctx, s.urls[s.next], &s.cfg)
}

// guard cuts l if ctx ends before the returned function is called.
func (s *Sink) guard(ctx context.Context, l *link) (done func()) {
	stop := context.AfterFunc(ctx, l.cut)
	return func() {
		if !stop() || !l.alive() {
			s.drop()
		}
	}
}

// exchange returns the exchange of topic.
func (s *Sink) exchange(topic string) string {
	switch {
	case s.cfg.Queues:
		return ""
	case s.cfg.Exchange != "":
		return s.cfg.Exchange
	default:
		return topic
	}
}
