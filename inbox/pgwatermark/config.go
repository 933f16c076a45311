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
	// Config is the configuration of the engine. Messages are recognised by their positions; the
	// ids of IDFrom are only used in logs and errors. IDFrom defaults to inbox.DefaultIDSource
	// and, if that finds none, the position. Hooks may also be an outbox.AlarmHook.
	inbox.Config

	// Schema holds the inbox's tables. It is quoted unchanged, so any name is valid. Defaults to
	// "leat".
	Schema string

	// Table is the prefix of the names of the tables and the views, which are shared with inboxes
	// of ids. At most 44 bytes. Defaults to "inbox".
	Table string

	// Isolation is the isolation level of the handler's transaction, like
	// pginbox.Config.Isolation. Defaults to the session's default_transaction_isolation.
	Isolation pgx.TxIsoLevel

	// MigrateLockTimeout bounds each wait for a lock in Migrate, 1 ms or more.
	// Defaults to 5 s.
	MigrateLockTimeout time.Duration

	// FollowNewSource makes Assigned accept a topic that is not the log that is remembered under
	// its name, and read all of it. If it is a copy of the old log, all messages run again.
	// Defaults to false: Assigned returns driver.ErrSourceChanged until AcceptSource of
	// admin.Watermarks is called.
	FollowNewSource bool

	// RefuseMissing makes Assigned return driver.ErrMissing if the log has dropped messages that
	// were not processed, by retention or by an administrator, until SetWatermark of
	// admin.Watermarks is called. Defaults to false: reading continues at the oldest message that
	// is left. The log does not show whether messages were lost: the offsets may have been those
	// of compacted records, or of the ends of transactions.
	RefuseMissing bool
}

func (c Config) withDefaults() Config {
	base := c.schema().WithDefaults()
	c.Schema, c.Table, c.MigrateLockTimeout = base.Schema, base.Table, base.LockTimeout
	if c.IDFrom.Find == nil && c.IDFrom.Name == "" {
		c.IDFrom = inbox.IDFromFirst(inbox.DefaultIDSource(), inbox.IDSource{Name: "place", Find: idFromPosition})
	}
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	if err := hooks.Refuse(c.Hooks, "pgwatermark", hooks.Is[inbox.DeliveryHook], hooks.Is[outbox.AlarmHook]); err != nil {
		return err
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

// idFromPosition finds ids for messages without an id.
func idFromPosition(msg *message.Message) (string, error) {
	at, ok := driver.PositionFrom(msg.Context())
	if !ok {
		return "", driver.ErrNoPosition
	}
	return describe(at), nil
}

// describe formats a position for operators.
func describe(at driver.Position) string {
	return at.Topic + "/" + strconv.Itoa(int(at.Partition)) + "@" + strconv.FormatInt(at.Offset, 10)
}
