package pginbox

import (
	"cmp"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/internal/pgschema"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// Config tunes an Inbox. The zero value is a good start.
type Config struct {
	// Config is the configuration of the engine. Its Hooks may also be an outbox.AlarmHook or an
	// ObserveHook.
	inbox.Config

	// Schema holds the inbox's tables. It is quoted unchanged, so any name is valid. Defaults to
	// "leat".
	Schema string

	// Table is the name of the inbox, and the prefix of the names of its other tables and its
	// view. At most 44 bytes. Defaults to "inbox".
	Table string

	// Isolation is the isolation level of the handler's transaction. At repeatable
	// read and serializable a conflict with another transaction (SQLSTATE 40001)
	// rolls back, and the handler is called again; see ConflictRetries.
	// Defaults to the session's default_transaction_isolation.
	Isolation pgx.TxIsoLevel

	// SyncAttempts makes each counted attempt wait for the disk, so that it also survives a crash
	// of the server. Without it a crash of the server loses the latest attempts; a crash of the
	// consumer never does. See OnFailure. Defaults to false.
	SyncAttempts bool

	// MigrateLockTimeout bounds each wait for a lock in Migrate, 1 ms or more.
	// Defaults to 5 s.
	MigrateLockTimeout time.Duration

	// TooOld is what happens to a message whose id is older than what the inbox
	// remembers, which is only known once Maintenance forgets.
	// Defaults to TooOldPark.
	TooOld TooOldPolicy

	// MaxAhead is how far ahead of the database's clock the time in an id of version 7 may be. If
	// the time is beyond that, and beyond the existing ranges, the message is refused with
	// driver.ErrTooNew. Defaults to 1 h.
	MaxAhead time.Duration

	// Observe lets every delivery run, including duplicates. It records the messages as usual,
	// and reports to each ObserveHook the deliveries that would not have run, to show what an
	// inbox would do before it is put into effect. The handler's effects and the record still
	// share a transaction. Defaults to false.
	Observe bool
}

func (c Config) withDefaults() Config {
	base := c.schema().WithDefaults()
	c.Schema, c.Table, c.MigrateLockTimeout, c.Logger = base.Schema, base.Table, base.LockTimeout, logger.Or(c.Logger)
	c.TooOld = cmp.Or(c.TooOld, TooOldPark)
	c.MaxAhead = cmp.Or(c.MaxAhead, time.Hour)
	return c
}

func (c Config) validate() error {
	if err := c.schema().Validate(); err != nil {
		return err
	}
	if c.MaxAhead < 0 {
		return outbox.ConfigError("MaxAhead", c.MaxAhead, "must be positive")
	}
	if err := hooks.Refuse(c.Hooks, "pginbox", hooks.Is[inbox.DeliveryHook], hooks.Is[outbox.AlarmHook], hooks.Is[ObserveHook]); err != nil {
		return err
	}
	return c.TooOld.validate()
}

func (c Config) schema() pgschema.Config {
	return pgschema.Config{Schema: c.Schema, Table: c.Table, Isolation: c.Isolation, LockTimeout: c.MigrateLockTimeout}
}
