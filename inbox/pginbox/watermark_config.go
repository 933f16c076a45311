package pginbox

import (
	"context"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// WatermarkConfig tunes a Watermark. The zero value is a good start.
type WatermarkConfig struct {
	// Config is the engine's. Messages are known by their positions; IDFrom is only
	// what logs and errors call them by, and defaults to inbox.DefaultIDSource and,
	// where that finds none, the position.
	inbox.Config

	// Schema holds the inbox's tables. Quoted as it is, so any name will do.
	// Defaults to "leat".
	Schema string

	// Table is the start of the names of the tables and the views, shared with
	// inboxes of ids. At most 44 bytes.
	// Defaults to "inbox".
	Table string

	// Isolation is the isolation level of the handler's transaction, as
	// Config.Isolation.
	// Defaults to the session's default_transaction_isolation.
	Isolation pgx.TxIsoLevel

	// MigrateLockTimeout bounds each wait for a lock in Migrate, 1 ms or more.
	// Defaults to 5 s.
	MigrateLockTimeout time.Duration

	// NewSource says what Assigned does with a topic that is another log than the
	// one that is remembered by its name.
	// Defaults to RefuseNewSource.
	NewSource NewSourcePolicy

	// Missing says what Assigned does where the log has dropped messages that were
	// not processed.
	// Defaults to PassOverMissing.
	Missing MissingPolicy

	// OnAlarm is called for what an operator should see to, by Assigned, after its
	// transaction has ended. The same is logged as an error.
	// Defaults to none.
	OnAlarm func(ctx context.Context, alarm WatermarkAlarm)
}

// NewSourcePolicy is an answer to a topic that has become another log.
type NewSourcePolicy int

const (
	// RefuseNewSource makes Assigned return driver.ErrSourceChanged until
	// Watermark.AcceptSource is called.
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
	// Watermark.Set is called.
	RefuseMissing
)

func (c WatermarkConfig) withDefaults() WatermarkConfig {
	base := c.base().withDefaults()
	c.Schema, c.Table, c.MigrateLockTimeout = base.Schema, base.Table, base.MigrateLockTimeout
	if c.IDFrom == nil {
		c.IDFrom = inbox.IDFromFirst(inbox.DefaultIDSource(), idFromPosition)
	}
	c.Logger = logger.Or(c.Logger)
	if c.OnAlarm == nil {
		c.OnAlarm = func(context.Context, WatermarkAlarm) {}
	}
	return c
}

func (c WatermarkConfig) validate() error {
	if c.NewSource < RefuseNewSource || c.NewSource > FollowNewSource {
		return outbox.ConfigError("NewSource", int(c.NewSource), "must be RefuseNewSource or FollowNewSource")
	}
	if c.Missing < PassOverMissing || c.Missing > RefuseMissing {
		return outbox.ConfigError("Missing", int(c.Missing), "must be PassOverMissing or RefuseMissing")
	}
	return c.base().validate()
}

// base is the part that an inbox of ids has too.
func (c WatermarkConfig) base() Config {
	return Config{
		Config: c.Config, Schema: c.Schema, Table: c.Table,
		Isolation: c.Isolation, MigrateLockTimeout: c.MigrateLockTimeout,
	}
}

// topicSet checks the topics of a Watermark.
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

// describe names a position for people.
func describe(at driver.Position) string {
	return at.Topic + "/" + strconv.Itoa(int(at.Partition)) + "@" + strconv.FormatInt(at.Offset, 10)
}
