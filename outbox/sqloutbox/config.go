package sqloutbox

import (
	"cmp"
	"log/slog"
	"strconv"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/outbox"
)

// maxPayloadBytes bounds Config.MaxPayloadBytes. A row is sent in one packet.
const maxPayloadBytes = 256 << 20

// Config tunes an Outbox. The zero value is a good start.
type Config struct {
	// Table is the name of the log, and the prefix of the names of its other tables, in the
	// default database of the pool's connections. ASCII letters, digits and underscores, at most
	// 48. Defaults to "leat_outbox".
	Table string

	// MaxPayloadBytes bounds Message.Payload, 1 to 256 MiB. On MySQL and MariaDB, Check
	// refuses a bound that max_allowed_packet does not leave room for.
	// Defaults to outbox.DefaultMaxPayloadBytes.
	MaxPayloadBytes int

	// UnorderedKeys skips the lock that Enqueue takes on each key until its transaction
	// ends. Without it, order within a key is kept only if the application itself lets
	// one transaction at a time write a key. On SQLite it changes nothing.
	// Defaults to false: keys are locked.
	UnorderedKeys bool

	// AllowAsyncCommit lets a relay start on a database that answers a COMMIT before it is
	// durable: innodb_flush_log_at_trx_commit other than 1, or SQLite's synchronous below FULL. A
	// message can then be published although a crash undoes its transaction, and its number is
	// assigned again to another message. Defaults to false.
	AllowAsyncCommit bool

	// Injector adds trace headers to messages. Defaults to none.
	Injector outbox.Injector

	// Hooks observe the Outbox, by outbox.EnqueueHook. Defaults to none.
	Hooks []outbox.Hook

	// Logger receives messages for operators. Defaults to slog.Default() as of New, warnings and
	// errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Table = cmp.Or(c.Table, "leat_outbox")
	c.MaxPayloadBytes = cmp.Or(c.MaxPayloadBytes, outbox.DefaultMaxPayloadBytes)
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	if err := sqldialect.CheckTable(c.Table); err != nil {
		return outbox.ConfigError("Table", strconv.Quote(c.Table), err.Error())
	}
	if c.MaxPayloadBytes < 1 || c.MaxPayloadBytes > maxPayloadBytes {
		return outbox.ConfigError("MaxPayloadBytes", c.MaxPayloadBytes, "must be 1 to 268435456")
	}
	return hooks.Refuse(c.Hooks, "outbox", hooks.Is[outbox.EnqueueHook])
}
