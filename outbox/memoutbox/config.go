package memoutbox

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox"
)

// Config tunes an Outbox. The zero value is a good start.
type Config struct {
	// MaxPayloadBytes bounds the payload of a message, in bytes.
	// Defaults to outbox.DefaultMaxPayloadBytes.
	MaxPayloadBytes int

	// UnorderedKeys lets writers of one key pass one another, so that the order of
	// a key is not that of the commits where their transactions overlap.
	// Defaults to false: a key is held until its transaction ends.
	UnorderedKeys bool

	// Injector adds trace headers to messages that have none. Defaults to none.
	Injector outbox.Injector

	// Hook sees every call that enqueues. Defaults to none.
	Hook outbox.EnqueueHook
}

func (c Config) withDefaults() Config {
	if c.MaxPayloadBytes == 0 {
		c.MaxPayloadBytes = outbox.DefaultMaxPayloadBytes
	}
	if c.Hook == nil {
		c.Hook = noHook{}
	}
	return c
}

func (c Config) validate() error {
	if c.MaxPayloadBytes < 0 {
		return outbox.ConfigError("MaxPayloadBytes", c.MaxPayloadBytes, "must not be negative")
	}
	return nil
}

// noHook is the hook of those who want none.
type noHook struct{}

// OnEnqueue implements outbox.EnqueueHook.
func (noHook) OnEnqueue(context.Context, []outbox.Message, time.Duration, error) {}
