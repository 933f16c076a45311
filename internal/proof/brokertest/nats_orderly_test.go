package brokertest_test

import (
	"context"
	"errors"
	"sync"

	wmjetstream "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/jetstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// orderly ends subscriptions of watermill-nats in an order that avoids a panic. On its own, watermill-nats
// closes a subscription's channel as soon as its context ends, and still sends the remaining messages on
// that channel. So each subscription gets a subscriber of its own, which is closed instead, at a time when
// no message is between the broker and the channel.
type orderly struct {
	open    func(wmjetstream.Unmarshaler) (*wmjetstream.Subscriber, error)
	first   *wmjetstream.Subscriber // makes streams
	closing chan struct{}
	once    sync.Once
	running errgroup.Group
}

func newOrderly(open func(wmjetstream.Unmarshaler) (*wmjetstream.Subscriber, error)) (*orderly, error) {
	first, err := open(nil)
	return &orderly{open: open, first: first, closing: make(chan struct{})}, err
}

// SubscribeInitialize implements message.SubscribeInitializer.
func (s *orderly) SubscribeInitialize(topic string) error { return s.first.SubscribeInitialize(topic) }

// Close ends all subscriptions.
func (s *orderly) Close() error {
	s.once.Do(func() { close(s.closing) })
	return errors.Join(s.running.Wait(), s.first.Close())
}

// Subscribe returns the messages of topic.
func (s *orderly) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	one := turn{taken: make(chan struct{}, 1), over: make(chan struct{})}
	from, err := s.open(one)
	if err != nil {
		return nil, err
	}
	in, err := from.Subscribe(context.WithoutCancel(ctx), topic)
	if err != nil {
		return nil, errors.Join(err, from.Close())
	}
	ending, end := context.WithCancel(ctx)
	s.running.Go(func() error {
		defer end()
		select {
		case <-ctx.Done():
		case <-s.closing:
		}
		end()
		one.taken <- struct{}{} // when what is on its way has arrived
		defer close(one.over)
		return from.Close()
	})
	out := make(chan *message.Message)
	s.running.Go(func() error {
		defer close(out)
		for m := range in {
			<-one.taken
			select {
			case out <- m:
			case <-ending.Done():
			}
		}
		return nil
	})
	return out, nil
}

// turn is held while a message is on its way from the broker to the channel.
type turn struct{ taken, over chan struct{} }

// Unmarshal takes the turn, since every message passes it first.
func (t turn) Unmarshal(m jetstream.Msg) (*message.Message, error) {
	select {
	case t.taken <- struct{}{}:
	case <-t.over:
	}
	return wmjetstream.DefaultUnmarshaler{}.Unmarshal(m)
}
