package inboxtest

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// Reorderer changes the order of a stream of messages, for tests of consumers. It holds back up
// to Window of them and releases one at random.
type Reorderer struct {
	// Seed decides the order. Defaults to 0, a seed like any other.
	Seed uint64

	// Window is the number of messages that are held back; a message gets no more
	// than Window-1 places ahead. Defaults to 8.
	Window int

	// Key, if it is set, keeps the messages of one key in order, as a broker does: only those of
	// different keys change places. An empty key is not a key. Defaults to none: all change
	// places.
	Key func(msg *message.Message) string

	// Linger is how long Subscriber waits for one more message before it releases one although
	// the window is not full. It must be longer than the gaps in the stream, or the order depends
	// on them. Defaults to 50 ms.
	Linger time.Duration
}

func (r Reorderer) checked() (Reorderer, error) {
	r.Window = cmp.Or(r.Window, 8)
	r.Linger = cmp.Or(r.Linger, 50*time.Millisecond)
	switch {
	case r.Window < 1:
		return r, outbox.ConfigError("Reorderer.Window", r.Window, "must be at least 1")
	case r.Linger < 0:
		return r, outbox.ConfigError("Reorderer.Linger", r.Linger, "must not be negative")
	default:
		return r, nil
	}
}

// Publisher is a message.PublisherDecorator. Messages that are held back are published when more
// arrive, or by Close: Publish may return before. The order depends only on Seed and the
// published messages. Errors wrap outbox.ErrInvalidConfig.
func (r Reorderer) Publisher(pub message.Publisher) (message.Publisher, error) {
	r, err := r.checked()
	if err != nil {
		return nil, err
	}
	return &reorderingPublisher{pub: pub, held: newHeld(r)}, nil
}

// Subscriber is a message.SubscriberDecorator. Behind a subscriber with one
// message in flight it has nothing to choose from. Errors wrap
// outbox.ErrInvalidConfig.
func (r Reorderer) Subscriber(sub message.Subscriber) (message.Subscriber, error) {
	r, err := r.checked()
	if err != nil {
		return nil, err
	}
	return newPump(sub, r.pump), nil
}

// held holds the messages that are held back, in the order of their arrival.
type held struct {
	cfg  Reorderer
	rng  *rand.Rand
	msgs []addressed
}

type addressed struct {
	topic string
	msg   *message.Message
}

func newHeld(cfg Reorderer) *held {
	return &held{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 2))} //nolint:gosec // repeatable
}

// pick takes a message out. There must be at least one.
func (h *held) pick() addressed {
	at := h.rng.IntN(len(h.msgs))
	if h.cfg.Key != nil {
		chosen := h.msgs[at]
		if key := h.cfg.Key(chosen.msg); key != "" {
			at = slices.IndexFunc(h.msgs, func(a addressed) bool { return a.topic == chosen.topic && h.cfg.Key(a.msg) == key })
		}
	}
	a := h.msgs[at]
	h.msgs = slices.Delete(h.msgs, at, at+1)
	return a
}

type reorderingPublisher struct {
	pub message.Publisher

	mu   sync.Mutex
	held *held
}

// Publish implements message.Publisher.
func (p *reorderingPublisher) Publish(topic string, msgs ...*message.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, msg := range msgs {
		p.held.msgs = append(p.held.msgs, addressed{topic, msg})
		if len(p.held.msgs) < p.held.cfg.Window {
			continue
		}
		a := p.held.pick()
		if err := p.pub.Publish(a.topic, a.msg); err != nil {
			return err
		}
	}
	return nil
}

// Close publishes the messages that are held back, and closes.
func (p *reorderingPublisher) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.held.msgs) > 0 {
		a := p.held.pick()
		if err := p.pub.Publish(a.topic, a.msg); err != nil {
			return err
		}
	}
	return p.pub.Close()
}

// pump reorders a subscription.
func (r Reorderer) pump(ctx context.Context, p *pump, in <-chan *message.Message, out chan<- *message.Message) {
	h := newHeld(r)
	defer func() {
		for _, a := range h.msgs {
			a.msg.Nack()
		}
	}()
	for in != nil || len(h.msgs) > 0 {
		if in != nil && len(h.msgs) < r.Window {
			var came, open bool
			if in, came, open = r.fill(ctx, p, h, in); !open {
				return
			}
			if came || len(h.msgs) == 0 {
				continue
			}
		}
		if a := h.pick(); !p.send(ctx, out, a.msg) {
			a.msg.Nack()
			return
		}
	}
}

// fill waits for one more message. It returns a nil channel when the stream has ended, and open
// as false when the subscription is over.
func (r Reorderer) fill(
	ctx context.Context, p *pump, h *held, in <-chan *message.Message,
) (next <-chan *message.Message, came, open bool) {
	var linger <-chan time.Time
	if len(h.msgs) > 0 {
		timer := time.NewTimer(r.Linger)
		defer timer.Stop()
		linger = timer.C
	}
	select {
	case msg, ok := <-in:
		if !ok {
			return nil, false, true
		}
		h.msgs = append(h.msgs, addressed{msg: msg})
		return in, true, true
	case <-linger:
		return in, false, true
	case <-p.closing:
		return in, false, false
	case <-ctx.Done():
		return in, false, false
	}
}
