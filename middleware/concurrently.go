package middleware

import (
	"cmp"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// ConcurrentlyConfig tunes NewConcurrently. The zero value is a good start.
type ConcurrentlyConfig struct {
	// Key returns the key of a message that was received. Messages of one key are processed in
	// the order in which they were received; those with an empty key have no order. It must be
	// safe for concurrent use. Defaults to metadata outbox.HeaderKey.
	Key func(msg *message.Message) string

	// Limit is the number of messages of each subscription that are processed at the same time.
	// Defaults to 64.
	Limit int

	// InFlight is the most messages that are received and not acked, including waiting ones. A
	// busy key can queue up that many before it stops the others. At least Limit. Defaults to
	// 1,000, or Limit if that is more.
	InFlight int
}

func (c ConcurrentlyConfig) withDefaults() ConcurrentlyConfig {
	if c.Key == nil {
		c.Key = func(msg *message.Message) string { return msg.Metadata.Get(outbox.HeaderKey) }
	}
	c.Limit = cmp.Or(c.Limit, 64)
	c.InFlight = cmp.Or(c.InFlight, max(1000, c.Limit))
	return c
}

func (c ConcurrentlyConfig) validate() error {
	switch {
	case c.Limit < 1:
		return outbox.ConfigError("ConcurrentlyConfig.Limit", c.Limit, "must be at least 1")
	case c.InFlight < c.Limit:
		return outbox.ConfigError("ConcurrentlyConfig.InFlight", c.InFlight, fmt.Sprintf("must be at least Limit %d", c.Limit))
	default:
		return nil
	}
}

// NewConcurrently returns a decorator that runs handlers of different keys at the same time, and
// those of one key one after the other, behind a subscriber that has several messages in flight,
// such as those of AMQP, NATS, SQL and Go channels. It decorates the subscriber, because only the
// subscriber knows the order: Watermill's router runs every received message at once, on a
// goroutine of its own.
//
//	concurrently, err := middleware.NewConcurrently(middleware.ConcurrentlyConfig{})
//	router.AddSubscriberDecorators(concurrently)
//
// The next message of a key is passed on once the one before is acked or nacked. After a nack,
// the key continues with the next received message: if order matters, handle failures in place,
// by Watermill's Retry and then PoisonQueueWithFilter. Messages without a key run concurrently,
// as they do without the decorator. Behind a subscriber with one message in flight, as
// watermill-kafka for a partition, it changes nothing.
//
// Errors wrap outbox.ErrInvalidConfig. So do those of the decorator, which refuses a nil
// subscriber.
func NewConcurrently(cfg ConcurrentlyConfig) (message.SubscriberDecorator, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return func(sub message.Subscriber) (message.Subscriber, error) {
		if sub == nil {
			return nil, outbox.ConfigError("subscriber", nil, "must not be nil")
		}
		return &keyedSubscriber{Subscriber: sub, cfg: cfg, closing: make(chan struct{})}, nil
	}, nil
}
