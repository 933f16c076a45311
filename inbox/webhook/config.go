package webhook

import (
	"cmp"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// Config tunes New. The zero value is a good start.
type Config struct {
	// Tolerance is how far the time that a request was signed at may be from now, before and
	// after, 1 s to 24 h. Senders sign each attempt again. Defaults to 5 m.
	Tolerance time.Duration

	// MaxBodyBytes bounds the body, which is read into memory, 1 byte to 100 MiB; larger
	// ones are answered with 413. GitHub sends up to 25 MB. Defaults to 1 MiB.
	MaxBodyBytes int64

	// MaxConcurrent is the most verified requests that are processed at the same time, 1 to
	// 10,000; further ones are answered with 503 and Retry-After. Set it to the number that the
	// pool of the inbox's database can serve. Defaults to 64.
	MaxConcurrent int

	// Headers are names of the request's headers that become metadata of the message, under the
	// names as given here. Signatures do not cover them. Defaults to none.
	Headers []string

	// LeatHeaders restores the type, the key, the time and the headers of a message that
	// outbox/httpsink has sent, as metadata. Signatures do not cover them: set it only if no
	// untrusted party is between the sender and you, as with TLS. Defaults to false.
	LeatHeaders bool

	// AfterCommit is called after each commit, before the request is answered; it should
	// return at once. Give it the outbox's Wake. Defaults to none.
	AfterCommit func()

	// Logger receives what an operator should know. Requests that are not verified share a
	// line every ten seconds. Defaults to slog.Default() as of New, warnings and errors
	// only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger

	// Hooks observe the handler, by RequestHook. Defaults to none.
	Hooks []outbox.Hook
}

func (c Config) withDefaults() Config {
	c.Tolerance = cmp.Or(c.Tolerance, 5*time.Minute)
	c.MaxBodyBytes = cmp.Or(c.MaxBodyBytes, 1<<20)
	c.MaxConcurrent = cmp.Or(c.MaxConcurrent, 64)
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	switch {
	case c.Tolerance < time.Second || c.Tolerance > 24*time.Hour:
		return outbox.ConfigError("Tolerance", c.Tolerance, "must be 1 s to 24 h")
	case c.MaxBodyBytes < 1 || c.MaxBodyBytes > 100<<20:
		return outbox.ConfigError("MaxBodyBytes", c.MaxBodyBytes, "must be 1 to 104857600")
	case c.MaxConcurrent < 1 || c.MaxConcurrent > 10_000:
		return outbox.ConfigError("MaxConcurrent", c.MaxConcurrent, "must be 1 to 10000")
	}
	for i, name := range c.Headers {
		if name == "" || outbox.ReservedHeader(name) || name == metadataID {
			return outbox.ConfigError(fmt.Sprintf("Headers[%d]", i), strconv.Quote(name), "is set by leat itself, or empty")
		}
	}
	return hooks.Refuse(c.Hooks, "webhook", hooks.Is[RequestHook])
}
