package middleware

import (
	"context"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// DeadLetterConfig tunes NewDeadLetter. Publisher and Topic are required.
type DeadLetterConfig struct {
	// Publisher publishes to the topic. Required. It should be synchronous: what it
	// has only buffered is acknowledged, and lost in a crash.
	Publisher message.Publisher

	// Topic is the topic of dead letters. Required.
	Topic string

	// InTx runs the publishing in a transaction that it puts into the context, for
	// a Publisher that enqueues in an outbox. Defaults to none.
	InTx func(ctx context.Context, publish func(ctx context.Context) error) error

	// Should reports whether an error speaks against the message.
	// Defaults to inbox.ShouldPoison.
	Should func(err error) bool

	// After is the number of deliveries after which a message is given up, 1 or more. If
	// it is 2 or more, Attempts must stand outside: without it every message fails with
	// ErrMisplaced. A delivery that Attempts could not count gives nothing up.
	// Defaults to 1: at its first failure.
	After int

	// Timeout bounds the publishing, as far as the Publisher heeds the message's
	// context. Defaults to 10 s.
	Timeout time.Duration

	// Logger receives what was given up. Defaults to slog.Default() as of NewDeadLetter,
	// warnings and errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

func (c DeadLetterConfig) withDefaults() DeadLetterConfig {
	if c.Should == nil {
		c.Should = inbox.ShouldPoison
	}
	if c.After == 0 {
		c.After = 1
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c DeadLetterConfig) validate() error {
	switch {
	case c.Publisher == nil:
		return outbox.ConfigError("DeadLetterConfig.Publisher", nil, "is required")
	case c.Topic == "":
		return outbox.ConfigError("DeadLetterConfig.Topic", `""`, "is required")
	case c.After < 0:
		return outbox.ConfigError("DeadLetterConfig.After", c.After, "must not be negative")
	case c.Timeout < 0:
		return outbox.ConfigError("DeadLetterConfig.Timeout", c.Timeout, "must not be negative")
	default:
		return nil
	}
}
