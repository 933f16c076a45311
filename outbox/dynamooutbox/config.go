package dynamooutbox

import (
	"cmp"
	"log/slog"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// The bounds of DynamoDB that a message or a transaction can reach.
const (
	// maxPayloadBytes is the largest Config.MaxPayloadBytes: an item has at most 400 KB, of
	// which headers, key and topic are part.
	maxPayloadBytes = 350 << 10
	// maxItems is the most items of a transaction: the caller's own, one for each message
	// and one for each of their keys.
	maxItems = 100
)

// Config tunes an Outbox. Only Table is required.
type Config struct {
	// Table is the name or the ARN of the table, which nothing else should use. Required.
	Table string

	// MaxPayloadBytes bounds the payload of a message, in bytes, 1 to 350 KiB: an item of
	// DynamoDB has at most 400 KB, of which headers, key and topic are part.
	// Defaults to 350 KiB.
	MaxPayloadBytes int

	// Injector adds trace headers to messages that have none. Defaults to none.
	Injector outbox.Injector

	// Hooks observe the Outbox, by outbox.EnqueueHook. Defaults to none.
	Hooks []outbox.Hook

	// Logger logs hooks that panic, and that the first relay finds nothing. Defaults to slog.Default().
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.MaxPayloadBytes = cmp.Or(c.MaxPayloadBytes, maxPayloadBytes)
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	if c.Table == "" {
		return outbox.ConfigError("Table", `""`, "must not be empty")
	}
	if c.MaxPayloadBytes < 1 || c.MaxPayloadBytes > maxPayloadBytes {
		return outbox.ConfigError("MaxPayloadBytes", c.MaxPayloadBytes, "must be 1 to 358400")
	}
	return hooks.Refuse(c.Hooks, "outbox", hooks.Is[outbox.EnqueueHook])
}
