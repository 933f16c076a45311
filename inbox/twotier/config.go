package twotier

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// Config tunes the caches. Scope is required.
type Config struct {
	// Scope returns the name of the history that the inbox's commits belong to. It must read the
	// name each time from the database that the inbox writes to. pginbox's Inbox has such a
	// method. A read that takes longer than a second counts as unknown. Required.
	Scope func(ctx context.Context) (string, error)

	// Memory is how many messages are remembered in this process; the least recently used are
	// forgotten first. Each takes about 250 bytes plus its id. A negative value means none.
	// Defaults to 65,536.
	Memory int

	// MemoryTTL is how long messages are remembered in this process, 1 ms or more. Defaults to 10
	// min.
	MemoryTTL time.Duration

	// Shared is a cache that processes share, such as package rediscache's. It is asked about
	// messages that this process does not remember. Defaults to none.
	Shared Cache

	// CacheTimeout bounds each call of a cache. A message whose call takes longer counts as
	// unknown, and the inbox is asked. Defaults to 50 ms.
	CacheTimeout time.Duration

	// RetryAfter is how long a cache that failed is not asked, so that a cache that is
	// unavailable does not delay every message by CacheTimeout. Defaults to 1 s.
	RetryAfter time.Duration

	// Logger receives what an operator should know. Defaults to slog.Default() as of
	// New, warnings and errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger

	// Hooks observe the caches, by LookHook. Defaults to none.
	Hooks []outbox.Hook
}

func (c Config) withDefaults() Config {
	c.Memory = cmp.Or(c.Memory, 65_536)
	c.MemoryTTL = cmp.Or(c.MemoryTTL, 10*time.Minute)
	c.CacheTimeout = cmp.Or(c.CacheTimeout, 50*time.Millisecond)
	c.RetryAfter = cmp.Or(c.RetryAfter, time.Second)
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	if c.Scope == nil {
		return outbox.ConfigError("Scope", nil, "is required, such as the Scope of a pginbox.Inbox")
	}
	if c.Memory < 0 && c.Shared == nil {
		return outbox.ConfigError("Memory", c.Memory, "must not be negative without Shared: there would be no cache")
	}
	if c.MemoryTTL < time.Millisecond {
		return outbox.ConfigError("MemoryTTL", c.MemoryTTL, "must be 1 ms or more")
	}
	for name, d := range map[string]time.Duration{
		"CacheTimeout": c.CacheTimeout, "RetryAfter": c.RetryAfter,
	} {
		if d < 0 {
			return outbox.ConfigError(name, d, "must not be negative")
		}
	}
	return hooks.Refuse(c.Hooks, "twotier", hooks.Is[LookHook])
}
