package sqlinbox

import (
	"cmp"
	"database/sql"
	"strconv"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/outbox"
)

// maxConsumerBytes bounds the name of a consumer.
const maxConsumerBytes = 255

// Config tunes an Inbox. The zero value is a good start.
type Config struct {
	// Config is the configuration of the engine.
	inbox.Config

	// Table is the name of the inbox, and the prefix of the names of its other tables, in the
	// default database of the pool's connections. ASCII letters, digits and underscores, at most
	// 48. Defaults to "leat_inbox".
	Table string

	// Isolation is the isolation level of the handler's transaction, not read uncommitted. If the
	// database aborts a transaction because of a deadlock, the handler is called again; see
	// ConflictRetries. SQLite has one level: leave it unset there. Defaults to the session's.
	Isolation sql.IsolationLevel
}

func (c Config) withDefaults() Config {
	c.Table = cmp.Or(c.Table, "leat_inbox")
	return c
}

func (c Config) validate(d sqldialect.Dialect) error {
	if err := sqldialect.CheckTable(c.Table); err != nil {
		return outbox.ConfigError("Table", strconv.Quote(c.Table), err.Error())
	}
	switch c.Isolation {
	case sql.LevelDefault:
	case sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable:
		if d.OneWriter {
			return outbox.ConfigError("Isolation", c.Isolation, "SQLite has one level, leave it alone")
		}
	default:
		return outbox.ConfigError("Isolation", c.Isolation, "must be read committed, repeatable read or serializable")
	}
	return hooks.Refuse(c.Hooks, "inbox", hooks.Is[inbox.DeliveryHook])
}
