package brokertest_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware"
)

var (
	errNacked  = errors.New("the reader has nacked the message")
	errClosing = errors.New("the subscriber is closing")
)

// twice publishes every message twice.
type twice struct{ message.Publisher }

// Publish publishes messages, and copies of them.
func (p twice) Publish(topic string, messages ...*message.Message) error {
	var all []*message.Message
	for _, m := range messages {
		all = append(all, m, m.Copy())
	}
	return p.Publisher.Publish(topic, all...)
}

// once is a subscriber that delivers only the messages that an inbox lets through. It acks and nacks as
// Watermill's router does.
type once struct {
	message.Subscriber

	// Group is the name of the consumer group that remembers.
	Group string
	// Store is the memory, shared by all subscribers of a test.
	Store *meminbox.Store
	// OneByOne is set if the subscriber waits for the ack of each message.
	OneByOne bool

	closing chan struct{}
	once    sync.Once
	running sync.WaitGroup
}

// newOnce returns a subscriber that delivers each message of from once to group. store is its memory.
func newOnce(from message.Subscriber, group string, store *meminbox.Store, oneByOne bool) *once {
	return &once{Subscriber: from, Group: group, Store: store, OneByOne: oneByOne, closing: make(chan struct{})}
}

// SubscribeInitialize implements message.SubscribeInitializer.
func (s *once) SubscribeInitialize(topic string) error {
	if i, ok := s.Subscriber.(message.SubscribeInitializer); ok {
		return i.SubscribeInitialize(topic)
	}
	return nil
}

// Close returns unacknowledged messages to the broker, and waits until all channels are closed.
func (s *once) Close() error {
	s.once.Do(func() { close(s.closing) })
	err := s.Subscriber.Close()
	s.running.Wait()
	return err
}

// Subscribe returns the messages of topic, each once.
func (s *once) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	in, err := meminbox.New(s.Group+"/"+topic, meminbox.Config{
		Config: inbox.Config{BusyDelay: 10 * time.Millisecond}, Store: s.Store,
	})
	if err != nil {
		return nil, err
	}
	wrap, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
	if err != nil {
		return nil, err
	}
	messages, err := s.Subscriber.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	out := make(chan *message.Message)
	s.running.Go(func() {
		defer close(out)
		var running sync.WaitGroup
		defer running.Wait()
		handle := wrap(func(m *message.Message) ([]*message.Message, error) { return nil, s.deliver(ctx, m, out) })
		for m := range messages {
			if s.OneByOne {
				settle(m, handle)
			} else {
				running.Go(func() { settle(m, handle) })
			}
		}
	})
	return out, nil
}

// settle acks m if it was handled, and nacks it if not.
func settle(m *message.Message, handle message.HandlerFunc) {
	if _, err := handle(m); err != nil {
		m.Nack()
		return
	}
	m.Ack()
}

// deliver gives m to the reader of out, and waits for its ack or nack.
func (s *once) deliver(ctx context.Context, m *message.Message, out chan<- *message.Message) error {
	handed := m.Copy()
	handed.SetContext(m.Context())
	select {
	case out <- handed:
	case <-ctx.Done():
		return ctx.Err()
	case <-m.Context().Done():
		return m.Context().Err()
	case <-s.closing:
		return errClosing
	}
	err := errClosing
	select {
	case <-handed.Acked():
	case <-handed.Nacked():
		return errNacked
	case <-m.Context().Done():
		err = m.Context().Err()
	case <-s.closing:
	}
	select {
	case <-handed.Acked(): // even if the reader has closed since
		return nil
	default:
		return err
	}
}
