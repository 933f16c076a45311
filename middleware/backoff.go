package middleware

import (
	"math"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

// BackoffConfig tunes NewBackoff. The zero value is a good start.
type BackoffConfig struct {
	// Initial is the first wait. Defaults to 100 ms.
	Initial time.Duration

	// Max is the longest wait. Defaults to 10 s, and no less than Initial.
	Max time.Duration

	// Multiplier makes each wait longer than the one before, 1 or more.
	// Defaults to 2.
	Multiplier float64

	// Jitter is the part of a wait that is left to chance, up or down, 0 to 1;
	// negative means none. Defaults to 0.2.
	Jitter float64

	// Retries is how often a message runs again in place, before its error is
	// returned. Defaults to 0: it is returned after one wait, which grows with the
	// deliveries that Attempts has counted.
	Retries int

	// Should says for which errors to wait. Defaults to all.
	Should func(err error) bool
}

func (c BackoffConfig) withDefaults() BackoffConfig {
	if c.Initial == 0 {
		c.Initial = 100 * time.Millisecond
	}
	if c.Max == 0 {
		c.Max = max(10*time.Second, c.Initial)
	}
	if c.Multiplier == 0 {
		c.Multiplier = 2
	}
	if c.Jitter == 0 {
		c.Jitter = 0.2
	}
	if c.Should == nil {
		c.Should = func(error) bool { return true }
	}
	return c
}

func (c BackoffConfig) validate() error {
	switch {
	case c.Initial < 0:
		return outbox.ConfigError("BackoffConfig.Initial", c.Initial, "must not be negative")
	case c.Max < c.Initial:
		return outbox.ConfigError("BackoffConfig.Max", c.Max, "must not be less than Initial "+c.Initial.String())
	case !(c.Multiplier >= 1): // nor NaN
		return outbox.ConfigError("BackoffConfig.Multiplier", c.Multiplier, "must be at least 1")
	case !(c.Jitter <= 1):
		return outbox.ConfigError("BackoffConfig.Jitter", c.Jitter, "must be at most 1")
	case c.Retries < 0:
		return outbox.ConfigError("BackoffConfig.Retries", c.Retries, "must not be negative")
	default:
		return nil
	}
}

// NewBackoff returns a middleware that makes a message that failed wait before it runs
// again, longer each time. It waits on the goroutine of that message alone: behind a
// subscriber that has several messages in flight the others go on. Behind one that has a
// single one in flight, as watermill-kafka for a partition, all that is behind
// the message waits with it. A wait ends with the message's context.
//
// With Retries the message runs again in place, so that with Concurrently, or a
// subscriber that orders by key, its key stays in order and waits. Without, the
// wait comes before the error is returned, so that the redelivery is not at
// once; what of the key is in flight overtakes it, unless the subscriber sees to
// that.
//
// It stands outside Inbox, and inside DeadLetter and Attempts. It is safe for concurrent
// use. Errors wrap outbox.ErrInvalidConfig.
func NewBackoff(cfg BackoffConfig) (message.HandlerMiddleware, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return backoff{cfg}.middleware, nil
}

type backoff struct{ cfg BackoffConfig }

func (b backoff) middleware(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		ctx := msg.Context()
		for try := 0; ; try++ {
			produced, err := h(msg)
			if err == nil || !b.cfg.Should(err) {
				return produced, err
			}
			msg.SetContext(ctx) // the handler's may have ended
			switch {
			case b.cfg.Retries == 0:
				attempt, _ := AttemptFrom(ctx)
				_ = wait.For(ctx, b.delay(max(attempt-1, 0)))
				return nil, err
			case try == b.cfg.Retries, wait.For(ctx, b.delay(try)) != nil:
				return nil, err
			}
		}
	}
}

// delay is the wait after so many failures before this one, at most Max.
func (b backoff) delay(before int) time.Duration {
	d := b.cfg.Max
	if grown := float64(b.cfg.Initial) * math.Pow(b.cfg.Multiplier, float64(before)); grown < float64(b.cfg.Max) { // +Inf is not
		d = time.Duration(grown)
	}
	return min(jitter.Around(d, max(b.cfg.Jitter, 0)), b.cfg.Max)
}
