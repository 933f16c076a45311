package dynamodedupe

import (
	"cmp"
	"time"

	"github.com/leat-go/leat/outbox"
)

// Config tunes a Store. Only Table is required.
type Config struct {
	// Table is the name or the ARN of the table, which nothing else should use. Required.
	Table string

	// TTL is how long a message is remembered after it was done: longer than the
	// oldest redelivery. At least 1 s.
	// Defaults to 7 days.
	TTL time.Duration
}

func (c Config) withDefaults() Config {
	c.TTL = cmp.Or(c.TTL, 7*24*time.Hour)
	return c
}

func (c Config) validate() error {
	switch {
	case c.Table == "":
		return outbox.ConfigError("Table", `""`, "must not be empty")
	case c.TTL < time.Second:
		return outbox.ConfigError("TTL", c.TTL, "must be at least 1s")
	}
	return nil
}
