package pgdedupe

import (
	"strconv"
	"time"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
)

// Config tunes a Store. The zero value is a good start.
type Config struct {
	// Schema holds the table. Quoted as it is, so any name will do.
	// Defaults to "leat".
	Schema string

	// Table is the table's name, at most 48 bytes.
	// Defaults to "dedupe".
	Table string

	// TTL is how long a message is remembered after it was done: longer than the
	// oldest redelivery. At least 1 s.
	// Defaults to 7 days.
	TTL time.Duration

	// MigrateLockTimeout bounds each wait for a lock in Migrate.
	// Defaults to 5 s.
	MigrateLockTimeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.Schema == "" {
		c.Schema = "leat"
	}
	if c.Table == "" {
		c.Table = "dedupe"
	}
	if c.TTL == 0 {
		c.TTL = 7 * 24 * time.Hour
	}
	if c.MigrateLockTimeout == 0 {
		c.MigrateLockTimeout = 5 * time.Second
	}
	return c
}

func (c Config) validate() error {
	if err := c.names().Validate("_expires_at_idx"); err != nil {
		return outbox.ConfigError("Schema, Table", strconv.Quote(c.Schema)+", "+strconv.Quote(c.Table), err.Error())
	}
	if c.TTL < time.Second {
		return outbox.ConfigError("TTL", c.TTL, "must be at least 1s")
	}
	if c.MigrateLockTimeout < time.Millisecond {
		return outbox.ConfigError("MigrateLockTimeout", c.MigrateLockTimeout, "must be at least 1ms")
	}
	return nil
}

func (c Config) names() pgmigrate.Names {
	return pgmigrate.Names{Schema: c.Schema, Table: c.Table}
}
