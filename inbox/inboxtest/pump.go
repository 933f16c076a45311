package inboxtest

import (
	"context"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
)

// pump is a subscriber whose messages go through run.
type pump struct {
	message.Subscriber

	run      func(ctx context.Context, p *pump, in <-chan *message.Message, out chan<- *message.Message)
	once     sync.Once
	closing  chan struct{}
	running  sync.WaitGroup
	watchers sync.WaitGroup
}

func newPump(
	sub message.Subscriber, run func(ctx context.Context, p *pump, in <-chan *message.Message, out chan<- *message.Message),
) *pump {
	return &pump{Subscriber: sub, run: run, closing: make(chan struct{})}
}

// Subscribe implements message.Subscriber.
func (p *pump) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	in, err := p.Subscriber.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	out := make(chan *message.Message)
	p.running.Go(func() {
		defer close(out)
		p.run(ctx, p, in, out)
	})
	return out, nil
}

// SubscribeInitialize passes on to a subscriber that is a
// message.SubscribeInitializer.
func (p *pump) SubscribeInitialize(topic string) error {
	if i, ok := p.Subscriber.(message.SubscribeInitializer); ok {
		return i.SubscribeInitialize(topic)
	}
	return nil
}

// Close closes the subscriber and waits for the end of the subscriptions.
func (p *pump) Close() error {
	p.once.Do(func() { close(p.closing) })
	err := p.Subscriber.Close()
	p.running.Wait()
	p.watchers.Wait()
	return err
}

// receive returns false when the stream has ended.
func (p *pump) receive(ctx context.Context, in <-chan *message.Message) (*message.Message, bool) {
	select {
	case msg, ok := <-in:
		return msg, ok
	case <-p.closing:
	case <-ctx.Done():
	}
	return nil, false
}

// send returns false when msg has no receiver any more.
func (p *pump) send(ctx context.Context, out chan<- *message.Message, msg *message.Message) bool {
	select {
	case out <- msg:
		return true
	case <-p.closing:
	case <-ctx.Done():
	}
	return false
}

// mirror waits until msg is acked or nacked and does the same to orig, if there is one.
func (p *pump) mirror(ctx context.Context, msg, orig *message.Message) {
	acked := false
	select {
	case <-msg.Acked():
		acked = true
	case <-msg.Nacked():
	case <-p.closing:
	case <-ctx.Done():
	}
	switch {
	case orig == nil:
	case acked:
		orig.Ack()
	default:
		orig.Nack()
	}
}
