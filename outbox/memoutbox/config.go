package memoutbox

import (
	"cmp"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/outbox"
)

// Config tunes an Outbox. The zero value is a good start.
type Config struct {
	// MaxPayloadBytes bounds the payload of a message, in bytes.
	// Defaults to outbox.DefaultMaxPayloadBytes.
	MaxPayloadBytes int

	// UnorderedKeys lets writers of one key overtake one another: where their transactions
	// overlap, the order of the key is not that of the commits. Defaults to false: a key is held
	// until its transaction ends.
	UnorderedKeys bool

	// Injector adds trace headers to messages that have none. Defaults to none.
	Injector outbox.Injector

	// Hooks observe the Outbox, by outbox.EnqueueHook. Defaults to none.
	Hooks []outbox.Hook
}

func (c Config) withDefaults() Config {
	c.MaxPayloadBytes = cmp.Or(c.MaxPayloadBytes, outbox.DefaultMaxPayloadBytes)
	return c
}

func (c Config) validate() error {
	if c.MaxPayloadBytes < 0 {
		return outbox.ConfigError("MaxPayloadBytes", c.MaxPayloadBytes, "must not be negative")
	}
	return hooks.Refuse(c.Hooks, "outbox", hooks.Is[outbox.EnqueueHook])
}
