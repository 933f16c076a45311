package pghttp

import (
	"time"

	"github.com/leat-go/leat/dedupe/internal/pgtable"
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
	return c.table().Validate()
}

func (c Config) table() pgtable.Table {
	return pgtable.Table{
		Component: "http", Files: migrationFiles,
		Schema: c.Schema, Name: c.Table, TTL: c.TTL, LockTimeout: c.MigrateLockTimeout,
	}
}
