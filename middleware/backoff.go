package middleware

import (
	"math"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

// Backoff makes a message that failed wait before it runs again, longer each
// time. It waits on the goroutine of that message alone: behind a subscriber
// that has several messages in flight the others go on. Behind one that has a
// single one in flight, as watermill-kafka for a partition, all that is behind
// the message waits with it.
//
// With Retries the message runs again in place, so that with Concurrently, or a
// subscriber that orders by key, its key stays in order and waits. Without, the
// wait comes before the error is returned, so that the redelivery is not at
// once; what of the key is in flight overtakes it, unless the subscriber sees to
// that.
//
// It stands outside Inbox, and inside DeadLetter and Attempts.
type Backoff struct {
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

func (b Backoff) withDefaults() Backoff {
	if b.Initial == 0 {
		b.Initial = 100 * time.Millisecond
	}
	if b.Max == 0 {
		b.Max = max(10*time.Second, b.Initial)
	}
	if b.Multiplier == 0 {
		b.Multiplier = 2
	}
	if b.Jitter == 0 {
		b.Jitter = 0.2
	}
	if b.Should == nil {
		b.Should = func(error) bool { return true }
	}
	return b
}

func (b Backoff) validate() error {
	switch {
	case b.Initial < 0:
		return outbox.ConfigError("Backoff.Initial", b.Initial, "must not be negative")
	case b.Max < b.Initial:
		return outbox.ConfigError("Backoff.Max", b.Max, "must not be less than Initial "+b.Initial.String())
	case !(b.Multiplier >= 1): // nor NaN
		return outbox.ConfigError("Backoff.Multiplier", b.Multiplier, "must be at least 1")
	case !(b.Jitter <= 1):
		return outbox.ConfigError("Backoff.Jitter", b.Jitter, "must be at most 1")
	case b.Retries < 0:
		return outbox.ConfigError("Backoff.Retries", b.Retries, "must not be negative")
	default:
		return nil
	}
}

// Middleware wraps h. It is safe for concurrent use. A wait ends with the
// message's context. A Backoff that cannot work fails every message with an
// error that wraps outbox.ErrInvalidConfig.
func (b Backoff) Middleware(h message.HandlerFunc) message.HandlerFunc {
	b = b.withDefaults()
	if err := b.validate(); err != nil {
		return refuse(err)
	}
	return func(msg *message.Message) ([]*message.Message, error) {
		ctx := msg.Context()
		for try := 0; ; try++ {
			produced, err := h(msg)
			if err == nil || !b.Should(err) {
				return produced, err
			}
			msg.SetContext(ctx) // the handler's may have ended
			switch {
			case b.Retries == 0:
				attempt, _ := AttemptFrom(ctx)
				_ = wait.For(ctx, b.delay(max(attempt-1, 0)))
				return nil, err
			case try == b.Retries, wait.For(ctx, b.delay(try)) != nil:
				return nil, err
			}
		}
	}
}

// delay is the wait after so many failures before this one, at most Max.
func (b Backoff) delay(before int) time.Duration {
	d := b.Max
	if grown := float64(b.Initial) * math.Pow(b.Multiplier, float64(before)); grown < float64(b.Max) { // +Inf is not
		d = time.Duration(grown)
	}
	return min(jitter.Around(d, max(b.Jitter, 0)), b.Max)
}
