package relay

import (
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox"
)

// validate returns an error that wraps outbox.ErrInvalidConfig if a field is out of its
// bounds.
func (c Config) validate() error {
	if c.PageSize < 1 || c.PageSize > 100_000 {
		return outbox.ConfigError("PageSize", c.PageSize, "must be 1 to 100000")
	}
	if c.PageBytes < 1<<10 || c.PageBytes > 1<<30 {
		return outbox.ConfigError("PageBytes", c.PageBytes, "must be 1024 to 1073741824")
	}
	if c.ReadAhead < NoReadAhead || c.ReadAhead > 64 {
		return outbox.ConfigError("ReadAhead", c.ReadAhead, "must be -1 to 64")
	}
	if err := c.validateTimes(); err != nil {
		return err
	}
	if err := c.validateFailures(); err != nil {
		return err
	}
	return c.validateHooks()
}

func (c Config) validateFailures() error {
	if err := c.Order.validate(); err != nil {
		return err
	}
	if c.MaxHeld < 1 || c.MaxHeld > 100_000_000 {
		return outbox.ConfigError("MaxHeld", c.MaxHeld, "must be 1 to 100000000")
	}
	if c.SuspectKeys < 2 || c.SuspectKeys > 1000 {
		return outbox.ConfigError("SuspectKeys", c.SuspectKeys, "must be 2 to 1000")
	}
	return c.validatePolicies()
}

func (c Config) validateTimes() error {
	for _, f := range [...]struct {
		name  string
		value time.Duration
	}{
		{"Lease", c.Lease},
		{"PublishTimeout", c.PublishTimeout},
		{"LeaseMargin", c.LeaseMargin},
		{"PollMin", c.PollMin},
		{"BackoffMin", c.BackoffMin},
		{"DrainTimeout", c.DrainTimeout},
		{"SLO", c.SLO},
	} {
		if f.value < 0 {
			return outbox.ConfigError(f.name, f.value, "must not be negative")
		}
	}
	if c.Lease <= c.PublishTimeout+c.LeaseMargin {
		return outbox.ConfigError("Lease", c.Lease, fmt.Sprintf(
			"must exceed PublishTimeout %s + LeaseMargin %s", c.PublishTimeout, c.LeaseMargin))
	}
	if c.PollMax < c.PollMin {
		return outbox.ConfigError("PollMax", c.PollMax, fmt.Sprintf("must not be below PollMin %s", c.PollMin))
	}
	if c.BackoffMax < c.BackoffMin {
		return outbox.ConfigError("BackoffMax", c.BackoffMax, fmt.Sprintf("must not be below BackoffMin %s", c.BackoffMin))
	}
	return nil
}

func (c Config) validateHooks() error {
	for i, h := range c.Hooks {
		switch h.(type) {
		case PublishHook, LeaseHook, ErrorHook, HoldHook, BreakerHook, AlarmHook, ProgressHook:
		default:
			return outbox.ConfigError(fmt.Sprintf("Hooks[%d]", i), fmt.Sprintf("%T", h), "implements no hook interface of package relay")
		}
	}
	return nil
}
