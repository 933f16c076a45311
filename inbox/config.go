package inbox

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/leat-go/leat/outbox"
)

// MaxConsumerBytes bounds a consumer's name.
const MaxConsumerBytes = 200

// NoBusyDelay as Config.BusyDelay makes Process return at once.
const NoBusyDelay time.Duration = -1

// Config tunes a Processor. The zero value is a good start.
type Config struct {
	// IDFrom finds the id of a message.
	// Defaults to DefaultIDSource.
	IDFrom IDSource

	// BusyDelay is how long Process waits, jittered by a quarter, before it
	// returns ErrBusy, so that a broker that redelivers at once does not spin. No
	// connection is held meanwhile, and the end of the context cuts it short.
	// Defaults to 100 ms; NoBusyDelay (-1) means none.
	BusyDelay time.Duration

	// FinishTimeout bounds each commit and rollback. They are not interrupted by
	// the end of the delivery's context: that would leave a commit's outcome
	// unknown for no gain. Defaults to 10 s.
	FinishTimeout time.Duration

	// Logger receives what an operator should know. Defaults to none.
	Logger *slog.Logger

	// Hooks observe the Processor. Defaults to none.
	Hooks []Hook
}

func (c Config) withDefaults() Config {
	if c.IDFrom == nil {
		c.IDFrom = DefaultIDSource()
	}
	if c.BusyDelay == 0 {
		c.BusyDelay = 100 * time.Millisecond
	}
	if c.FinishTimeout == 0 {
		c.FinishTimeout = 10 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func (c Config) validate() error {
	if c.BusyDelay < NoBusyDelay {
		return outbox.ConfigError("BusyDelay", c.BusyDelay, "must be positive, or NoBusyDelay")
	}
	if c.FinishTimeout < 0 {
		return outbox.ConfigError("FinishTimeout", c.FinishTimeout, "must not be negative")
	}
	for i, h := range c.Hooks {
		if _, ok := h.(OutcomeHook); !ok {
			return outbox.ConfigError(fmt.Sprintf("Hooks[%d]", i), fmt.Sprintf("%T", h), "implements no hook interface of package inbox")
		}
	}
	return nil
}

func validateConsumer(name string) error {
	var reason string
	switch {
	case name == "":
		reason = "must not be empty"
	case len(name) > MaxConsumerBytes:
		reason = fmt.Sprintf("is longer than %d bytes", MaxConsumerBytes)
	case !utf8.ValidString(name):
		reason = "is not valid UTF-8"
	case strings.IndexByte(name, 0) >= 0:
		reason = "contains a NUL byte"
	default:
		return nil
	}
	return outbox.ConfigError("consumer", strconv.Quote(name), reason)
}
