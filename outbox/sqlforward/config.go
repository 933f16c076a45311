package sqlforward

import (
	"cmp"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/outbox"
)

// Config is the place of the forwarder's table and how to read it. The zero value is for a
// forwarder with all of Watermill's defaults.
type Config struct {
	// Topic is the forwarder's topic, forwarder.Config.ForwarderTopic.
	// Defaults to "forwarder_topic", as Watermill's does.
	Topic string

	// Queue is set if the table is watermill-sql's MySQLQueueSchema with MySQLQueueOffsetsAdapter.
	// Defaults to false: DefaultMySQLSchema with DefaultMySQLOffsetsAdapter.
	Queue bool

	// Table is the table of messages, if the adapter's GenerateMessagesTableName says
	// otherwise: the bare name without quotes, at most 64 characters.
	// Defaults to "watermill_" and Topic.
	Table string

	// OffsetsTable is the table of the forwarder's position, if the adapter's
	// GenerateMessagesOffsetsTableName says otherwise. A Queue has none.
	// Defaults to "watermill_offsets_" and Topic.
	OffsetsTable string

	// ConsumerGroup is the consumer group of the forwarder's subscriber. A Queue has none. Defaults to "",
	// as watermill-sql's does.
	ConsumerGroup string

	// KeepAcked marks rows of a Queue as acked, as MySQLQueueOffsetsAdapter does without
	// DeleteOnAck. Rows of the default schema stay anyway.
	// Defaults to false: moved rows are deleted.
	KeepAcked bool

	// StateTable is the prefix of the names of the Forwarders' own tables. One set serves any
	// number of forwarders' tables. ASCII letters, digits and underscores, at most 48. Defaults
	// to "leat_forward".
	StateTable string

	// KeyFunc returns the key of a message for its destination; to keep its present partition,
	// use the function that watermill-kafka's NewWithPartitioningMarshaler was given. A row for
	// which it fails counts as malformed. It is called from one goroutine and must not change the
	// message. Defaults to metadata outbox.HeaderKey; without it a message is unordered.
	KeyFunc outbox.KeyFunc

	// PageSize is the number of rows that one transaction moves, 1 to 10,000. Defaults to 500.
	PageSize int

	// PollMin and PollMax bound the wait for rows when there are none: it doubles from the
	// one to the other. At least 1 ms.
	// Default to 2 ms and 100 ms.
	PollMin, PollMax time.Duration

	// GapAge is how long a missing number is looked for although no transaction has a lock on it.
	// It must be longer than producers wait for locks (innodb_lock_wait_timeout). At least 1 s.
	// Defaults to 10 min.
	GapAge time.Duration

	// TakeOverTimeout bounds the wait for the batch that a forwarder is sending. Whole
	// seconds, as the databases count; at least 1 s.
	// Defaults to 5 s.
	TakeOverTimeout time.Duration

	// Logger receives messages for operators. Defaults to slog.Default() as of New, warnings and
	// errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Topic = cmp.Or(c.Topic, "forwarder_topic")
	c.Table = cmp.Or(c.Table, "watermill_"+c.Topic)
	c.OffsetsTable = cmp.Or(c.OffsetsTable, "watermill_offsets_"+c.Topic)
	c.StateTable = cmp.Or(c.StateTable, "leat_forward")
	c.PageSize = cmp.Or(c.PageSize, 500)
	c.PollMin = cmp.Or(c.PollMin, 2*time.Millisecond)
	c.PollMax = cmp.Or(c.PollMax, max(c.PollMin, 100*time.Millisecond))
	c.GapAge = cmp.Or(c.GapAge, 10*time.Minute)
	c.TakeOverTimeout = cmp.Or(c.TakeOverTimeout, 5*time.Second)
	c.Logger = logger.Or(c.Logger)
	return c
}

// maxNameChars is MySQL's bound of a table's name.
const maxNameChars = 64

func (c Config) validate() error {
	for _, n := range []struct{ field, name string }{{"Table", c.Table}, {"OffsetsTable", c.OffsetsTable}} {
		if len(n.name) > maxNameChars || strings.ContainsAny(n.name, "`\x00@{}") {
			return outbox.ConfigError(n.field, strconv.Quote(n.name), "must be the bare name of a table, of at most 64 characters")
		}
	}
	if err := sqldialect.CheckTable(c.StateTable); err != nil {
		return outbox.ConfigError("StateTable", strconv.Quote(c.StateTable), err.Error())
	}
	for _, f := range []struct {
		name  string
		value any
		bad   bool
		rule  string
	}{
		{"ConsumerGroup", strconv.Quote(c.ConsumerGroup), c.Queue && c.ConsumerGroup != "", "must be empty with Queue"},
		{"KeepAcked", c.KeepAcked, !c.Queue && c.KeepAcked, "has no meaning without Queue"},
		{"PageSize", c.PageSize, c.PageSize < 1 || c.PageSize > 10_000, "must be 1 to 10000"},
		{"PollMin", c.PollMin, c.PollMin < time.Millisecond, "must be at least 1ms"},
		{"PollMax", c.PollMax, c.PollMax < c.PollMin, "must not be below PollMin"},
		{"GapAge", c.GapAge, c.GapAge < time.Second, "must be at least 1s"},
		{
			"TakeOverTimeout", c.TakeOverTimeout, c.TakeOverTimeout < time.Second || c.TakeOverTimeout%time.Second != 0,
			"must be whole seconds, at least one",
		},
	} {
		if f.bad {
			return outbox.ConfigError(f.name, f.value, f.rule)
		}
	}
	return nil
}
