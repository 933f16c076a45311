package inbox

import (
	"cmp"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// maxConsumerBytes bounds a consumer's name.
const maxConsumerBytes = 200

// NoDelay as Config.BusyDelay, Policy.Delay or BatcherConfig.RetryDelay means no wait.
const NoDelay time.Duration = -1

// Config tunes a Processor. The zero value is a good start.
type Config struct {
	// IDFrom finds the id of a message. If several producers choose ids, use IDWithTopic or
	// IDWithin, and a Fingerprint: two messages with one id count as one. Messages fail while the
	// store remembers ids of a source of another name. Defaults to DefaultIDSource.
	IDFrom IDSource

	// BusyDelay is how long Process waits, jittered by a quarter, before it
	// returns ErrBusy, so that a broker that redelivers at once does not spin. No
	// connection is held while it waits, and the end of the context ends the wait.
	// Defaults to 100 ms; NoDelay (-1) means none.
	BusyDelay time.Duration

	// OnFailure decides what happens to messages whose handler fails. Defaults to Block: they are
	// redelivered until they succeed.
	OnFailure Policy

	// KeyFunc returns the ordering key of a message, for OnFailure: the later messages of a
	// parked key wait. It is not called if Action is Block. Defaults to outbox.KeyFromMetadata.
	KeyFunc outbox.KeyFunc

	// GiveUpWithoutID gives up messages without an id, as OnFailure says. Otherwise each of their
	// deliveries fails with ErrNoMessageID. Two deliveries of such a message are recognised as
	// one only if its context carries a Position. To invent an id instead, end IDFrom with a
	// source of your own. It cannot be combined with Block. Defaults to false.
	GiveUpWithoutID bool

	// ConflictRetries is how often claim, handler and commit are repeated at once if the database
	// refuses them for a conflict with other transactions, as it does at repeatable read and
	// serializable, and for deadlocks: up to 1,000. The handler is called again each time. After
	// that the delivery fails with ErrConflict, which does not count as an attempt. Defaults to
	// 10; -1 means none.
	ConflictRetries int

	// ConflictDelay is the wait before the first of these retries, jittered by a
	// half. It doubles with each, up to half a second. Defaults to 5 ms.
	ConflictDelay time.Duration

	// Fingerprint returns a few bytes that must be the same for all copies of a message. A
	// message whose id was processed before with a different fingerprint fails with
	// ErrFingerprintMismatch, and is given up at once, as OnFailure says. An error fails the
	// delivery. It must be safe for concurrent use, and costs one row per message. The Store must
	// be a driver.Keeper. FingerprintPayload is such a function. Defaults to none: messages with
	// one id are one message.
	Fingerprint func(msg *message.Message) ([]byte, error)

	// KeepReplies stores what the handlers of ProcessReply return, for duplicates. It costs one
	// row per message. The Store must be a driver.Keeper. Defaults to false.
	KeepReplies bool

	// RedrivePoll is how often RunRedrive looks for redriven messages, jittered by a
	// quarter. Defaults to 1 s.
	RedrivePoll time.Duration

	// FinishTimeout bounds each commit, each rollback, and each giving up of a message. The end
	// of the delivery's context does not interrupt them: that would only leave a commit's outcome
	// unknown. Defaults to 10 s.
	FinishTimeout time.Duration

	// Logger receives what an operator should know. Defaults to slog.Default() as of
	// New, warnings and errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger

	// Hooks observe the Processor, by DeliveryHook and by further hooks of the adapter. Defaults
	// to none.
	Hooks []outbox.Hook
}

func (c Config) withDefaults() Config {
	if c.IDFrom.Find == nil && c.IDFrom.Name == "" {
		c.IDFrom = DefaultIDSource()
	}
	c.BusyDelay = cmp.Or(c.BusyDelay, 100*time.Millisecond)
	c.OnFailure = c.OnFailure.withDefaults()
	if c.KeyFunc == nil {
		c.KeyFunc = outbox.KeyFromMetadata
	}
	c.ConflictRetries = cmp.Or(c.ConflictRetries, 10)
	c.ConflictDelay = cmp.Or(c.ConflictDelay, 5*time.Millisecond)
	c.RedrivePoll = cmp.Or(c.RedrivePoll, time.Second)
	c.FinishTimeout = cmp.Or(c.FinishTimeout, 10*time.Second)
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	if c.BusyDelay < NoDelay {
		return outbox.ConfigError("BusyDelay", c.BusyDelay, "must be positive, or NoDelay")
	}
	if c.FinishTimeout < 0 {
		return outbox.ConfigError("FinishTimeout", c.FinishTimeout, "must not be negative")
	}
	if err := c.IDFrom.Check(); err != nil {
		return err
	}
	if err := c.validateFailures(); err != nil {
		return err
	}
	return hooks.Refuse(c.Hooks, "inbox", hooks.Is[DeliveryHook])
}

func (c Config) validateFailures() error {
	switch {
	case c.GiveUpWithoutID && c.OnFailure.Action == Block:
		return outbox.ConfigError("GiveUpWithoutID", true, "OnFailure.Action = block gives nothing up")
	case c.ConflictRetries < -1 || c.ConflictRetries > 1000:
		return outbox.ConfigError("ConflictRetries", c.ConflictRetries, "must be 1 to 1000, or -1 for none")
	case c.ConflictDelay < 0:
		return outbox.ConfigError("ConflictDelay", c.ConflictDelay, "must not be negative")
	case c.RedrivePoll < time.Millisecond:
		return outbox.ConfigError("RedrivePoll", c.RedrivePoll, "must be 1 ms or more")
	}
	return c.OnFailure.validate()
}

func validateConsumer(name string) error {
	var reason string
	switch {
	case name == "":
		reason = "must not be empty"
	case len(name) > maxConsumerBytes:
		reason = fmt.Sprintf("is longer than %d bytes", maxConsumerBytes)
	case !utf8.ValidString(name):
		reason = "is not valid UTF-8"
	case strings.IndexByte(name, 0) >= 0:
		reason = "contains a NUL byte"
	default:
		return nil
	}
	return outbox.ConfigError("consumer", strconv.Quote(name), reason)
}
