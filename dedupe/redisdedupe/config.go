package redisdedupe

import (
	"cmp"
	"log/slog"
	"strconv"
	"time"

	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// Config tunes a Store. The zero value is a good start.
type Config struct {
	// Prefix starts the names of all keys.
	// Defaults to "leat:dedupe:".
	Prefix string

	// TTL is how long a message is remembered after it was done. Make it longer than the oldest
	// redelivery, including the topic's retention and replays. At least 1 s. Defaults to 24 h.
	TTL time.Duration

	// MaxResultBytes bounds what is kept of a handler's result, 0 to 64 MiB; a
	// larger one is not kept.
	// Defaults to 64 KiB; negative means that no result is kept.
	MaxResultBytes int

	// AllowEviction accepts a server that evicts keys when its memory is full: records
	// then vanish before TTL and repeats run. Defaults to false: Check and Claim refuse
	// it.
	AllowEviction bool

	// Logger receives what an operator should know. Defaults to slog.Default() as of
	// New, warnings and errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Prefix = cmp.Or(c.Prefix, "leat:dedupe:")
	c.TTL = cmp.Or(c.TTL, 24*time.Hour)
	c.MaxResultBytes = cmp.Or(c.MaxResultBytes, 64<<10)
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	if c.TTL < time.Second {
		return outbox.ConfigError("TTL", c.TTL, "must be at least 1s")
	}
	if c.MaxResultBytes > 64<<20 {
		return outbox.ConfigError("MaxResultBytes", c.MaxResultBytes, "must be at most 67108864")
	}
	if len(c.Prefix) > 200 {
		return outbox.ConfigError("Prefix", strconv.Quote(c.Prefix), "must be at most 200 bytes")
	}
	return nil
}
