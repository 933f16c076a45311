package pgdedupe

import (
	"time"

	"github.com/leat-go/leat/dedupe/internal/pgtable"
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
	return c.table().Validate()
}

func (c Config) table() pgtable.Table {
	return pgtable.Table{
		Component: "dedupe", Files: migrationFiles,
		Schema: c.Schema, Name: c.Table, TTL: c.TTL, LockTimeout: c.MigrateLockTimeout,
	}
}
