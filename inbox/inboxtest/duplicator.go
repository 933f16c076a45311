package inboxtest

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// Duplicator makes a stream of messages repeat itself, as brokers, relays and rebalances do, for
// tests of consumers. Its output depends only on Seed and on the order of the messages.
type Duplicator struct {
	// Seed decides what is repeated. Defaults to 0, a seed like any other.
	Seed uint64

	// Rate is the chance of each message to be repeated, and of each repeat to be
	// followed by one more, 0 to 1; negative means never. Defaults to 0.5.
	Rate float64

	// Most is the most repeats of a message. Defaults to 3.
	Most int

	// Late is how many other messages may come between a message and its repeat. Repeats that are
	// still due when the stream ends come at its end. Defaults to 0: right behind it.
	Late int

	// Concurrent makes Subscriber hand repeats over while the message before is
	// still being processed. Defaults to false: one after the other.
	Concurrent bool
}

func (d Duplicator) checked() (Duplicator, error) {
	d.Rate = cmp.Or(d.Rate, 0.5)
	d.Most = cmp.Or(d.Most, 3)
	switch {
	case !(d.Rate <= 1):
		return d, outbox.ConfigError("Duplicator.Rate", d.Rate, "must be at most 1")
	case d.Most < 0:
		return d, outbox.ConfigError("Duplicator.Most", d.Most, "must not be negative")
	case d.Late < 0:
		return d, outbox.ConfigError("Duplicator.Late", d.Late, "must not be negative")
	default:
		return d, nil
	}
}

// Publisher is a message.PublisherDecorator: each topic is a stream, which ends
// with Close. Errors wrap outbox.ErrInvalidConfig.
func (d Duplicator) Publisher(pub message.Publisher) (message.Publisher, error) {
	d, err := d.checked()
	if err != nil {
		return nil, err
	}
	return &duplicatingPublisher{pub: pub, cfg: d, topics: make(map[string]*repeats)}, nil
}

// Subscriber is a message.SubscriberDecorator: each subscription is a stream. The
// message that came is acked and nacked as its first copy is; the fate of
// repeats changes nothing. Errors wrap outbox.ErrInvalidConfig.
func (d Duplicator) Subscriber(sub message.Subscriber) (message.Subscriber, error) {
	d, err := d.checked()
	if err != nil {
		return nil, err
	}
	return newPump(sub, d.pump), nil
}

// repeats holds the messages that one stream must still repeat.
type repeats struct {
	cfg Duplicator
	rng *rand.Rand
	due [][]*message.Message // after this message, after the next one, …
}

func newRepeats(cfg Duplicator) *repeats {
	return &repeats{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 1)), due: make([][]*message.Message, cfg.Late+1)} //nolint:gosec // repeatable
}

// after returns the repeats that come behind msg.
func (r *repeats) after(msg *message.Message) []*message.Message {
	for n := 0; n < r.cfg.Most && r.rng.Float64() < r.cfg.Rate; n++ {
		at := r.rng.IntN(r.cfg.Late + 1)
		r.due[at] = append(r.due[at], msg)
	}
	now := r.due[0]
	r.due = append(r.due[1:], nil)
	return now
}

// rest returns the messages that are left to repeat.
func (r *repeats) rest() []*message.Message {
	left := slices.Concat(r.due...)
	r.due = make([][]*message.Message, r.cfg.Late+1)
	return left
}

type duplicatingPublisher struct {
	pub message.Publisher
	cfg Duplicator

	mu     sync.Mutex
	topics map[string]*repeats
}

// Publish implements message.Publisher.
func (p *duplicatingPublisher) Publish(topic string, msgs ...*message.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ok := p.topics[topic]
	if !ok {
		r = newRepeats(p.cfg)
		p.topics[topic] = r
	}
	var all []*message.Message
	for _, msg := range msgs {
		all = append(append(all, msg), copies(r.after(copyOf(msg)))...)
	}
	return p.pub.Publish(topic, all...)
}

// Close publishes the messages that are left to repeat, and closes.
func (p *duplicatingPublisher) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, topic := range slices.Sorted(maps.Keys(p.topics)) {
		left := copies(p.topics[topic].rest())
		if len(left) == 0 {
			continue
		}
		if err := p.pub.Publish(topic, left...); err != nil {
			return err
		}
	}
	return p.pub.Close()
}

func copies(msgs []*message.Message) []*message.Message {
	var out []*message.Message
	for _, msg := range msgs {
		out = append(out, copyOf(msg))
	}
	return out
}

// copyOf returns a copy of msg, which has its context too.
func copyOf(msg *message.Message) *message.Message {
	c := msg.Copy()
	c.SetContext(msg.Context())
	return c
}

// pump copies a subscription.
func (d Duplicator) pump(ctx context.Context, p *pump, in <-chan *message.Message, out chan<- *message.Message) {
	r := newRepeats(d)
	for {
		msg, ok := p.receive(ctx, in)
		if !ok {
			break
		}
		first := copyOf(msg)
		if !p.send(ctx, out, first) {
			msg.Nack()
			return
		}
		settled := make(chan struct{})
		p.watchers.Go(func() {
			defer close(settled)
			p.mirror(ctx, first, msg)
		})
		if !d.Concurrent {
			<-settled
		}
		if !d.repeat(ctx, p, out, r.after(msg)) {
			return
		}
	}
	d.repeat(ctx, p, out, r.rest())
}

// repeat hands over copies of msgs, which must not end with the message's
// context.
func (d Duplicator) repeat(ctx context.Context, p *pump, out chan<- *message.Message, msgs []*message.Message) bool {
	for _, msg := range msgs {
		c := msg.Copy()
		c.SetContext(ctx)
		if !p.send(ctx, out, c) {
			return false
		}
		if !d.Concurrent {
			p.mirror(ctx, c, nil)
		}
	}
	return true
}
