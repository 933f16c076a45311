// Package pgschema is the schema of the inboxes in PostgreSQL. Those of ids and those of
// positions share its tables of consumers.
package pgschema

import (
	"cmp"
	"context"
	"embed"
	"io/fs"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
)

//go:embed migrations/*.sql
var files embed.FS

// Config is the common part of the configurations of the inboxes.
type Config struct {
	Schema, Table string
	Isolation     pgx.TxIsoLevel
	LockTimeout   time.Duration
}

// WithDefaults returns c with defaults for the fields that are not set.
func (c Config) WithDefaults() Config {
	c.Schema = cmp.Or(c.Schema, "leat")
	c.Table = cmp.Or(c.Table, "inbox")
	c.LockTimeout = cmp.Or(c.LockTimeout, 5*time.Second)
	return c
}

// Validate returns an error that wraps outbox.ErrInvalidConfig.
func (c Config) Validate() error {
	if err := c.set().Validate(); err != nil {
		return outbox.ConfigError("Schema, Table", strconv.Quote(c.Schema)+", "+strconv.Quote(c.Table), err.Error())
	}
	switch c.Isolation {
	case "", pgx.ReadUncommitted, pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable:
	default:
		return outbox.ConfigError("Isolation", strconv.Quote(string(c.Isolation)), "is not an isolation level of pgx")
	}
	if c.LockTimeout < time.Millisecond {
		return outbox.ConfigError("MigrateLockTimeout", c.LockTimeout, "must be 1 ms or more")
	}
	return nil
}

// Names returns the names of the tables.
func (c Config) Names() pgmigrate.Names {
	return pgmigrate.Names{Schema: c.Schema, Table: c.Table}
}

// Migrate creates or upgrades the schema.
func (c Config) Migrate(ctx context.Context, db pgmigrate.DB) error {
	return c.set().Migrate(ctx, db, pgmigrate.Options{LockTimeout: c.LockTimeout})
}

// Status looks at the schema and changes nothing.
func (c Config) Status(ctx context.Context, db pgmigrate.DB) (pgmigrate.Status, error) {
	return c.set().Status(ctx, db)
}

// Export returns the migrations as files that other tools run as they are.
func (c Config) Export() (fs.FS, error) {
	return c.set().Export()
}

func (c Config) set() pgmigrate.Set {
	return pgmigrate.Set{Component: "inbox", Names: c.Names(), FS: pgmigrate.Embedded(files)}
}
