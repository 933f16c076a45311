package kafkasource

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/outbox"
)

// rejoinDelay is the pause between a lost session and the next.
const rejoinDelay = 250 * time.Millisecond

// Subscriber consumes topics as members of one consumer group. It is safe for
// concurrent use.
type Subscriber struct {
	brokers []string
	group   string
	cfg     Config

	closing chan struct{}
	mu      sync.Mutex // guards what follows
	closed  bool
	topics  map[string]struct{} // subscribed topics, with a group
	running sync.WaitGroup
}

var _ message.Subscriber = (*Subscriber)(nil)

// NewSubscriber returns a Subscriber in the consumer group called group, on the
// cluster that it finds through brokers, which are host:port. It does not
// connect. The error wraps outbox.ErrInvalidConfig. The caller must Close the
// Subscriber.
//
// The members of a group share the partitions of a topic. If each service needs every message,
// give each its own group. If each instance needs every message, set Config.NoGroup and pass an
// empty group.
func NewSubscriber(brokers []string, group string, cfg Config) (*Subscriber, error) {
	cfg = cfg.withDefaults()
	if err := validateNames(brokers, group, cfg.NoGroup); err != nil {
		return nil, err
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := refuse(brokers, cfg.Options); err != nil {
		return nil, err
	}
	return &Subscriber{
		brokers: slices.Clone(brokers), group: group, cfg: cfg, closing: make(chan struct{}), topics: map[string]struct{}{},
	}, nil
}

// Subscribe implements message.Subscriber. It joins the group as a member of its own and returns
// at once. While the cluster or the topic is unavailable, the subscription keeps trying. The
// channel is closed when ctx has ended or Close was called.
//
// The contexts of the messages have the values of ctx. They end when the message was acked or
// nacked, and when its partition is given up (see ErrRevoked, ErrSessionLost and
// outbox.ErrClosed, their causes). An ack after that is too late: the message is delivered again,
// here or elsewhere. The end of ctx has the same effect as Close, so handlers still get
// DrainTimeout: Watermill's router ends ctx as soon as it is closed.
//
// It returns outbox.ErrClosed after Close, and an error that wraps outbox.ErrInvalidConfig for an
// empty topic and for one that already has a subscription: each of two handlers in a group would
// get the messages of some partitions, and neither would get all.
func (s *Subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	out := make(chan *message.Message)
	st := &stream{cfg: &s.cfg, group: s.group, out: out, slots: make(chan struct{}, s.cfg.MaxInFlight)}
	sub, err := s.begin(topic, st.serve, s.cfg.Concurrency == 1)
	if err != nil {
		return nil, err
	}
	go func() {
		defer s.running.Done()
		defer close(out)
		defer s.release(topic)
		sub.run(ctx)
	}()
	return out, nil
}

// Close ends all subscriptions and batches. No more messages are delivered; handlers get
// DrainTimeout to finish, then their contexts end; offsets are committed, and the members leave
// the group. It always returns nil; further calls wait for the first.
func (s *Subscriber) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// begin registers a subscription; the caller runs it and then calls release and
// running.Done.
func (s *Subscriber) begin(topic string, serve func(*assignment), serial bool) (*subscription, error) {
	if topic == "" {
		return nil, outbox.ConfigError("topic", strconv.Quote(topic), "must not be empty")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("subscribe to %.200q: %w", topic, errClosed)
	}
	if _, taken := s.topics[topic]; taken {
		return nil, outbox.ConfigError("topic", topic, fmt.Sprintf(
			"is subscribed to already: each of two handlers in group %q would get the messages of some partitions only. "+
				"Give each handler a Subscriber with a group of its own; to run one handler side by side, set Config.Concurrency", s.group))
	}
	if !s.cfg.NoGroup {
		s.topics[topic] = struct{}{}
	}
	s.running.Add(1)
	return &subscription{
		brokers: s.brokers, group: s.group, topic: topic, cfg: s.cfg,
		serve: serve, serial: serial, closing: s.closing, places: &places{},
	}, nil
}

// release allows another subscription to topic.
func (s *Subscriber) release(topic string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.topics, topic)
}

// subscription is one topic's consumer, through all its memberships.
type subscription struct {
	brokers      []string
	group, topic string
	cfg          Config
	serve        func(*assignment) // serves an assignment until it drains or its context ends
	serial       bool
	closing      <-chan struct{}
	places       *places // unused if the consumer has a group
}

// run is a member of the group until ctx ends or the Subscriber is closed.
func (s *subscription) run(ctx context.Context) {
	for !s.over(ctx) {
		err := s.member(ctx)
		if err == nil {
			return
		}
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "group session ended, joining again",
			slog.String("consumer_group", s.group), slog.String("topic", s.topic), slog.Any("error", err))
		pause(ctx, jitter.Around(rejoinDelay, 0.25), s.closing)
	}
}

func (s *subscription) over(ctx context.Context) bool {
	select {
	case <-s.closing:
		return true
	case <-ctx.Done():
		return true
	default:
		return false
	}
}
