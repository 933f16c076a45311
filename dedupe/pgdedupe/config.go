package pgdedupe

import (
	"cmp"
	"time"
)

// Config tunes a Store or a TxStore. The zero value is a good start.
type Config struct {
	// Schema holds the table. It is quoted unchanged, so any name is valid. Defaults to "leat".
	Schema string

	// Table is the table's name, at most 48 bytes.
	// Defaults to "dedupe" with New, and to "http_responses" with NewTx.
	Table string

	// TTL is how long a message is remembered after it was done, or a response kept: longer than the oldest
	// redelivery, and longer than any client keeps repeating its request. At least 1 s. Defaults to 7 days
	// with New, and to 24 h with NewTx.
	TTL time.Duration

	// MigrateLockTimeout bounds each wait for a lock in Migrate, 1 ms or more.
	// Defaults to 5 s.
	MigrateLockTimeout time.Duration
}

func (c Config) withDefaults() Config { return c.or("dedupe", 7*24*time.Hour) }

// forTx is withDefaults for a TxStore.
func (c Config) forTx() Config { return c.or("http_responses", 24*time.Hour) }

func (c Config) or(table string, ttl time.Duration) Config {
	c.Schema = cmp.Or(c.Schema, "leat")
	c.Table = cmp.Or(c.Table, table)
	c.TTL = cmp.Or(c.TTL, ttl)
	c.MigrateLockTimeout = cmp.Or(c.MigrateLockTimeout, 5*time.Second)
	return c
}

func (c Config) validate() error {
	return c.table().validate()
}

func (c Config) table() table {
	return table{c, "dedupe", migrationFiles}
}

func (c Config) txTable() table {
	return table{c, "http", httpFiles()}
}
