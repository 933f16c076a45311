package sqldedupe

import (
	"cmp"
	"strconv"
	"time"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/outbox"
)

// Config tunes a Store. The zero value is a good start.
type Config struct {
	// Table is the name of the table, in the default database of the pool's connections. ASCII
	// letters, digits and underscores, at most 48. Defaults to "leat_dedupe".
	Table string

	// TTL is how long a message is remembered after it was done: longer than the
	// oldest redelivery. At least 1 s.
	// Defaults to 7 days.
	TTL time.Duration
}

func (c Config) withDefaults() Config {
	c.Table = cmp.Or(c.Table, "leat_dedupe")
	c.TTL = cmp.Or(c.TTL, 7*24*time.Hour)
	return c
}

func (c Config) validate() error {
	if err := sqldialect.CheckTable(c.Table); err != nil {
		return outbox.ConfigError("Table", strconv.Quote(c.Table), err.Error())
	}
	if c.TTL < time.Second {
		return outbox.ConfigError("TTL", c.TTL, "must be at least 1s")
	}
	return nil
}
