package dedupe

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// Config tunes a Processor. The zero value is a good start.
type Config struct {
	// Lease is how long a claim lasts without being extended; while the handler runs it is
	// extended after every third of that time. After a crash the message waits for up to Lease.
	// At least 30 ms. Defaults to 30 s.
	Lease time.Duration

	// Margin is how long before the end of the lease the handler's context ends, if the lease
	// could not be extended. It allows for clocks that differ and for a call in flight. Less than
	// two thirds of Lease. Defaults to a fifth of Lease.
	Margin time.Duration

	// FailOpen runs the handler without suppressing repeats while the store cannot
	// be reached, instead of returning ErrUnavailable. Defaults to false.
	FailOpen bool

	// BusyDelay is how long Do waits before it returns ErrBusy, jittered by a quarter, so
	// that a redelivery does not spin. It waits less if the other lease ends sooner. A
	// negative value means no wait. Defaults to 100 ms.
	BusyDelay time.Duration

	// FinishTimeout bounds completing and releasing, which continue after the delivery's
	// context has ended. Defaults to 5 s.
	FinishTimeout time.Duration

	// Logger receives what an operator should know. Defaults to slog.Default() as of
	// New, warnings and errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger

	// Hooks observe the Processor, by DeliveryHook. Defaults to none.
	Hooks []outbox.Hook
}

func (c Config) withDefaults() Config {
	c.Lease = cmp.Or(c.Lease, 30*time.Second)
	c.Margin = cmp.Or(c.Margin, c.Lease/5)
	c.BusyDelay = cmp.Or(c.BusyDelay, 100*time.Millisecond)
	c.FinishTimeout = cmp.Or(c.FinishTimeout, 5*time.Second)
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	if c.Lease < 30*time.Millisecond {
		return outbox.ConfigError("Lease", c.Lease, "must be at least 30ms")
	}
	if c.Margin < 0 || c.Margin >= c.Lease*2/3 {
		return outbox.ConfigError("Margin", c.Margin, fmt.Sprintf("must be less than two thirds of Lease %s", c.Lease))
	}
	if c.FinishTimeout < 0 {
		return outbox.ConfigError("FinishTimeout", c.FinishTimeout, "must not be negative")
	}
	return hooks.Refuse(c.Hooks, "dedupe", hooks.Is[DeliveryHook])
}
