package inbox

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// BatcherConfig tunes a Batcher. The zero value is a good start.
type BatcherConfig struct {
	// MaxMessages is the most messages that are collected. More than the Batch's MaxBatch become
	// several transactions. Defaults to 100.
	MaxMessages int

	// MaxDelay is how long Run waits for more messages after the first. A subscriber that
	// delivers the next message only when the last is acknowledged never has more: then each
	// message waits for MaxDelay. Defaults to 10 ms.
	MaxDelay time.Duration

	// RetryDelay is how long Run waits before it refuses messages that failed, so that a broker
	// that redelivers at once does not spin. Those that succeeded are acknowledged before.
	// Defaults to 100 ms; NoDelay (-1) means none.
	RetryDelay time.Duration

	// DrainTimeout bounds how long messages in progress may continue after Run's context has
	// ended. Then their context ends too. Defaults to 10 s.
	DrainTimeout time.Duration

	// Logger receives what an operator should know. Defaults to slog.Default() as of
	// New, warnings and errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

func (c BatcherConfig) withDefaults() BatcherConfig {
	c.MaxMessages = cmp.Or(c.MaxMessages, 100)
	c.MaxDelay = cmp.Or(c.MaxDelay, 10*time.Millisecond)
	c.RetryDelay = cmp.Or(c.RetryDelay, 100*time.Millisecond)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 10*time.Second)
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c BatcherConfig) validate() error {
	switch {
	case c.MaxMessages < 1 || c.MaxMessages > maxBatchClaims:
		return outbox.ConfigError("MaxMessages", c.MaxMessages, "must be 1 to 10000")
	case c.MaxDelay < 0:
		return outbox.ConfigError("MaxDelay", c.MaxDelay, "must be positive")
	case c.RetryDelay < NoDelay:
		return outbox.ConfigError("RetryDelay", c.RetryDelay, "must be positive, or NoDelay")
	case c.DrainTimeout < 0:
		return outbox.ConfigError("DrainTimeout", c.DrainTimeout, "must be positive")
	default:
		return nil
	}
}
