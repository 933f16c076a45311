package middleware

import (
	"context"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
)

// keyedSubscriber passes on one message of a key at a time.
type keyedSubscriber struct {
	message.Subscriber

	cfg     ConcurrentlyConfig
	once    sync.Once
	closing chan struct{}
	running sync.WaitGroup
}

// Subscribe implements message.Subscriber.
func (s *keyedSubscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	in, err := s.Subscriber.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	l := &lanes{
		cfg: s.cfg, in: in, out: make(chan *message.Message), settled: make(chan string),
		closing: s.closing, stopped: make(chan struct{}), waiting: make(map[string][]received),
	}
	s.running.Go(func() { l.run(ctx) })
	return l.out, nil
}

// SubscribeInitialize passes on to a subscriber that is a
// message.SubscribeInitializer.
func (s *keyedSubscriber) SubscribeInitialize(topic string) error {
	if i, ok := s.Subscriber.(message.SubscribeInitializer); ok {
		return i.SubscribeInitialize(topic)
	}
	return nil
}

// Close closes the subscriber and waits for the end of the subscriptions.
func (s *keyedSubscriber) Close() error {
	s.once.Do(func() { close(s.closing) })
	err := s.Subscriber.Close()
	s.running.Wait()
	return err
}

// received is a message with its key, stored because the handler might change the metadata.
type received struct {
	*message.Message

	key string
}

// lanes is one subscription. One goroutine does everything except watching messages.
type lanes struct {
	cfg     ConcurrentlyConfig
	in      <-chan *message.Message
	out     chan *message.Message
	settled chan string // receives the keys of settled messages
	closing <-chan struct{}
	stopped chan struct{} // closed when settled is not read any more

	waiting  map[string][]received // behind a message of the key that is ready or out
	ready    []received
	held, up int // received and not settled, passed on and not settled
	watchers sync.WaitGroup
}

// run ends when the subscription has ended or the subscriber is being closed. Messages that were
// not passed on by then are nacked.
func (l *lanes) run(ctx context.Context) {
	defer func() {
		close(l.out)
		close(l.stopped)
		for _, msg := range l.ready {
			msg.Nack()
		}
		for _, queue := range l.waiting {
			for _, msg := range queue {
				msg.Nack()
			}
		}
		l.watchers.Wait()
	}()
	for l.in != nil || l.held > 0 {
		in, out := l.in, l.out
		var next received
		if l.held >= l.cfg.InFlight {
			in = nil
		}
		if len(l.ready) > 0 && l.up < l.cfg.Limit {
			next = l.ready[0]
		} else {
			out = nil
		}
		select {
		case msg, ok := <-in:
			if !ok {
				l.in = nil
				continue
			}
			l.receive(received{msg, l.cfg.Key(msg)})
		case out <- next.Message:
			l.ready = l.ready[1:]
			l.up++
			l.watch(ctx, next)
		case key := <-l.settled:
			l.settle(key)
		case <-l.closing:
			return
		case <-ctx.Done():
			return
		}
	}
}

// receive queues msg behind those of its key.
func (l *lanes) receive(msg received) {
	l.held++
	if msg.key == "" {
		l.ready = append(l.ready, msg)
		return
	}
	queue, busy := l.waiting[msg.key]
	if busy {
		l.waiting[msg.key] = append(queue, msg)
		return
	}
	l.waiting[msg.key] = nil
	l.ready = append(l.ready, msg)
}

// settle releases the next message of key.
func (l *lanes) settle(key string) {
	l.held--
	l.up--
	if key == "" {
		return
	}
	queue := l.waiting[key]
	if len(queue) == 0 {
		delete(l.waiting, key)
		return
	}
	l.ready = append(l.ready, queue[0])
	l.waiting[key] = queue[1:]
}

// watch waits until msg is acked or nacked.
func (l *lanes) watch(ctx context.Context, msg received) {
	l.watchers.Go(func() {
		select {
		case <-msg.Acked():
		case <-msg.Nacked():
		case <-l.stopped:
			return
		case <-ctx.Done():
			return
		}
		select {
		case l.settled <- msg.key:
		case <-l.stopped:
		}
	})
}
