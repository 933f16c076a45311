package pgwatermark

import (
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgschema"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// Config tunes an Inbox. The zero value is a good start.
type Config struct {
	// Config is the engine's. Messages are known by their positions; IDFrom is only
	// what logs and errors call them by, and defaults to inbox.DefaultIDSource and,
	// if that finds none, the position. Hooks may also be an outbox.AlarmHook.
	inbox.Config

	// Schema holds the inbox's tables. Quoted as it is, so any name will do.
	// Defaults to "leat".
	Schema string

	// Table is the start of the names of the tables and the views, shared with
	// inboxes of ids. At most 44 bytes.
	// Defaults to "inbox".
	Table string

	// Isolation is the isolation level of the handler's transaction, as
	// pginbox.Config.Isolation.
	// Defaults to the session's default_transaction_isolation.
	Isolation pgx.TxIsoLevel

	// MigrateLockTimeout bounds each wait for a lock in Migrate, 1 ms or more.
	// Defaults to 5 s.
	MigrateLockTimeout time.Duration

	// NewSource is what Assigned does with a topic that is another log than the
	// one that is remembered by its name.
	// Defaults to RefuseNewSource.
	NewSource NewSourcePolicy

	// Missing is what Assigned does if the log has dropped messages that were
	// not processed.
	// Defaults to PassOverMissing.
	Missing MissingPolicy
}

// NewSourcePolicy is an answer to a topic that has become another log.
type NewSourcePolicy int

const (
	// RefuseNewSource makes Assigned return driver.ErrSourceChanged until
	// Admin.AcceptSource is called.
	RefuseNewSource NewSourcePolicy = iota
	// FollowNewSource accepts the new log and reads all of it. Where it is a copy of
	// the old one, all messages run again.
	FollowNewSource
)

// MissingPolicy is an answer to messages that the log has dropped, by retention or
// by an administrator, before they were processed.
type MissingPolicy int

const (
	// PassOverMissing goes on at the oldest message that is left. Whether any
	// messages were lost the log does not say: the offsets may have been those of
	// compacted records, or of the ends of transactions.
	PassOverMissing MissingPolicy = iota
	// RefuseMissing makes Assigned return driver.ErrMissing until
	// Admin.SetWatermark is called.
	RefuseMissing
)

func (c Config) withDefaults() Config {
	base := c.schema().WithDefaults()
	c.Schema, c.Table, c.MigrateLockTimeout = base.Schema, base.Table, base.LockTimeout
	if c.IDFrom == nil {
		c.IDFrom = inbox.IDFromFirst(inbox.DefaultIDSource(), idFromPosition)
	}
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	if c.NewSource < RefuseNewSource || c.NewSource > FollowNewSource {
		return outbox.ConfigError("NewSource", int(c.NewSource), "must be RefuseNewSource or FollowNewSource")
	}
	if c.Missing < PassOverMissing || c.Missing > RefuseMissing {
		return outbox.ConfigError("Missing", int(c.Missing), "must be PassOverMissing or RefuseMissing")
	}
	if field, hook, reason := hooks.Refuse(c.Hooks, "pgwatermark", hooks.Is[inbox.DeliveryHook], hooks.Is[outbox.AlarmHook]); reason != "" {
		return outbox.ConfigError(field, hook, reason)
	}
	return c.schema().Validate()
}

func (c Config) schema() pgschema.Config {
	return pgschema.Config{Schema: c.Schema, Table: c.Table, Isolation: c.Isolation, LockTimeout: c.MigrateLockTimeout}
}

// topicSet checks the topics of an Inbox.
func topicSet(topics []string) (map[string]bool, error) {
	if len(topics) == 0 {
		return nil, outbox.ConfigError("topics", "[]", "must not be empty")
	}
	set := make(map[string]bool, len(topics))
	for i, topic := range topics {
		if topic == "" {
			return nil, outbox.ConfigError("topics["+strconv.Itoa(i)+"]", `""`, "must not be empty")
		}
		set[topic] = true
	}
	return set, nil
}

// idFromPosition is an inbox.IDSource for messages that nobody has given an id.
func idFromPosition(msg *message.Message) (string, error) {
	at, ok := driver.PositionFrom(msg.Context())
	if !ok {
		return "", driver.ErrNoPosition
	}
	return describe(at), nil
}

// describe names a position for operators.
func describe(at driver.Position) string {
	return at.Topic + "/" + strconv.Itoa(int(at.Partition)) + "@" + strconv.FormatInt(at.Offset, 10)
}
