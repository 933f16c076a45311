package pghttp

import (
	"strconv"
	"time"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
)

// maxConsumerBytes bounds the name of a service.
const maxConsumerBytes = 200

// Config tunes a Store. The zero value is a good start.
type Config struct {
	// Schema holds the table. Quoted as it is, so any name will do.
	// Defaults to "leat".
	Schema string

	// Table is the table's name, at most 48 bytes.
	// Defaults to "http_responses".
	Table string

	// TTL is how long a response is kept: longer than any client goes on sending
	// its request again. At least 1 s.
	// Defaults to 24 h.
	TTL time.Duration

	// MigrateLockTimeout bounds each wait for a lock in Migrate, 1 ms or more.
	// Defaults to 5 s.
	MigrateLockTimeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.Schema == "" {
		c.Schema = "leat"
	}
	if c.Table == "" {
		c.Table = "http_responses"
	}
	if c.TTL == 0 {
		c.TTL = 24 * time.Hour
	}
	if c.MigrateLockTimeout == 0 {
		c.MigrateLockTimeout = 5 * time.Second
	}
	return c
}

func (c Config) validate() error {
	switch err := c.names().Validate("_expires_at_idx"); {
	case err != nil:
		return outbox.ConfigError("Schema, Table", strconv.Quote(c.Schema)+", "+strconv.Quote(c.Table), err.Error())
	case c.TTL < time.Second:
		return outbox.ConfigError("TTL", c.TTL, "must be at least 1s")
	case c.MigrateLockTimeout < time.Millisecond:
		return outbox.ConfigError("MigrateLockTimeout", c.MigrateLockTimeout, "must be at least 1ms")
	default:
		return nil
	}
}

func (c Config) names() pgmigrate.Names {
	return pgmigrate.Names{Schema: c.Schema, Table: c.Table}
}
