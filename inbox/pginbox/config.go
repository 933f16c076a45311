package pginbox

import (
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
)

// Config tunes an Inbox. The zero value is a good start.
type Config struct {
	// Config is the engine's.
	inbox.Config

	// Schema holds the inbox's tables. Quoted as it is, so any name will do.
	// Defaults to "leat".
	Schema string

	// Table is the name of the inbox, and the start of the names of the tables and
	// the view beside it. At most 44 bytes.
	// Defaults to "inbox".
	Table string

	// Isolation is the isolation level of the handler's transaction. At repeatable
	// read and serializable a conflict with another transaction (SQLSTATE 40001)
	// rolls back, and the handler is called again; see ConflictRetries.
	// Defaults to the session's default_transaction_isolation.
	Isolation pgx.TxIsoLevel

	// SyncAttempts makes each attempt that is counted wait for the disk, so that it
	// survives a crash of the server too. Without it a crash of the server forgets
	// those of its last moments; a crash of the consumer never does. See
	// OnFailure. Defaults to false.
	SyncAttempts bool

	// MigrateLockTimeout bounds each wait for a lock in Migrate, 1 ms or more.
	// Defaults to 5 s.
	MigrateLockTimeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.Schema == "" {
		c.Schema = "leat"
	}
	if c.Table == "" {
		c.Table = "inbox"
	}
	if c.MigrateLockTimeout == 0 {
		c.MigrateLockTimeout = 5 * time.Second
	}
	return c
}

func (c Config) validate() error {
	if err := migrations(c).Validate(); err != nil {
		return outbox.ConfigError("Schema, Table", strconv.Quote(c.Schema)+", "+strconv.Quote(c.Table), err.Error())
	}
	switch c.Isolation {
	case "", pgx.ReadUncommitted, pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable:
	default:
		return outbox.ConfigError("Isolation", strconv.Quote(string(c.Isolation)), "is no isolation level of pgx")
	}
	if c.MigrateLockTimeout < time.Millisecond {
		return outbox.ConfigError("MigrateLockTimeout", c.MigrateLockTimeout, "must be 1 ms or more")
	}
	return nil
}

func (c Config) names() pgmigrate.Names {
	return pgmigrate.Names{Schema: c.Schema, Table: c.Table}
}
