package pgoutbox

import (
	"cmp"
	"log/slog"
	"strconv"
	"time"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
)

// longestSuffix is the longest suffix of the names that are derived from the table's, and so bounds its length.
const longestSuffix = "_created_at_idx"

// Config tunes an Outbox. The zero value is a good start.
type Config struct {
	// Schema holds the outbox's tables. It is quoted as it is, so any name works. Defaults to
	// "leat".
	Schema string

	// Table is the name of the log, and the prefix of the names of its other tables and views. At
	// most 48 bytes. Defaults to "outbox".
	Table string

	// MaxPayloadBytes bounds Message.Payload, 1 to 256 MiB.
	// Defaults to outbox.DefaultMaxPayloadBytes.
	MaxPayloadBytes int

	// UnorderedKeys skips the lock that Enqueue takes on each key until its transaction ends.
	// Without it, order within a key is only kept if the application itself makes sure that one
	// transaction at a time writes a key, by locking the aggregate's row first. Defaults to
	// false: keys are locked.
	UnorderedKeys bool

	// InsertAtOnce makes Enqueue insert messages in a transaction of InTx or of an inbox at once,
	// as it does in any other. Without it they are sent with COMMIT, which saves a round trip: see InTx.
	// Defaults to false.
	InsertAtOnce bool

	// MaxKeyLocks bounds the keys that one transaction locks, since the whole cluster shares one
	// pool of locks (max_locks_per_transaction). One call of Enqueue with more distinct keys
	// locks the whole outbox instead: producers with keys wait until its transaction ends.
	// Several calls that exceed it together fail with ErrTooManyKeys: by then, locking the whole
	// outbox would risk a deadlock. 1 to 10,000. Defaults to 1,000.
	MaxKeyLocks int

	// MigrateLockTimeout bounds each wait for a lock in Migrate.
	// Defaults to 5 s.
	MigrateLockTimeout time.Duration

	// AllowAsyncCommit lets a relay start on a database whose synchronous_commit is off. A
	// message is then visible, and published, before it is durable: a crash of the server can
	// undo its transaction although the message was sent. Defaults to false.
	AllowAsyncCommit bool

	// NotifyInterval is the shortest time between two notifications of RunNotifier, 1 ms to 1
	// min. The first commit after a pause is announced at once, later ones within NotifyInterval
	// together. Defaults to 5 ms.
	NotifyInterval time.Duration

	// Injector adds trace headers to messages. Defaults to none.
	Injector outbox.Injector

	// Hooks observe the Outbox, by outbox.EnqueueHook. Defaults to none.
	Hooks []outbox.Hook

	// Logger receives messages for operators. Defaults to slog.Default() as of New, warnings and
	// errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Schema = cmp.Or(c.Schema, "leat")
	c.Table = cmp.Or(c.Table, "outbox")
	c.MaxPayloadBytes = cmp.Or(c.MaxPayloadBytes, outbox.DefaultMaxPayloadBytes)
	c.MaxKeyLocks = cmp.Or(c.MaxKeyLocks, 1000)
	c.MigrateLockTimeout = cmp.Or(c.MigrateLockTimeout, 5*time.Second)
	c.NotifyInterval = cmp.Or(c.NotifyInterval, 5*time.Millisecond)
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	if err := c.names().Validate(longestSuffix); err != nil {
		return outbox.ConfigError("Schema, Table", strconv.Quote(c.Schema)+", "+strconv.Quote(c.Table), err.Error())
	}
	if c.MaxPayloadBytes < 1 || c.MaxPayloadBytes > 256<<20 {
		return outbox.ConfigError("MaxPayloadBytes", c.MaxPayloadBytes, "must be 1 to 268435456")
	}
	if c.MaxKeyLocks < 1 || c.MaxKeyLocks > 10_000 {
		return outbox.ConfigError("MaxKeyLocks", c.MaxKeyLocks, "must be 1 to 10000")
	}
	if c.MigrateLockTimeout < time.Millisecond {
		return outbox.ConfigError("MigrateLockTimeout", c.MigrateLockTimeout, "must be at least 1ms")
	}
	if c.NotifyInterval < time.Millisecond || c.NotifyInterval > time.Minute {
		return outbox.ConfigError("NotifyInterval", c.NotifyInterval, "must be 1ms to 1m")
	}
	return hooks.Refuse(c.Hooks, "outbox", hooks.Is[outbox.EnqueueHook])
}

func (c Config) names() pgmigrate.Names {
	return pgmigrate.Names{Schema: c.Schema, Table: c.Table}
}
