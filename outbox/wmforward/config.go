package wmforward

import (
	"cmp"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
)

// longestSuffix is the suffix of the longest name derived from StateTable.
const longestSuffix = "_held_first_idx"

// Config is the place of the forwarder's table and how to read it. The zero value is for a
// forwarder with all of Watermill's defaults.
type Config struct {
	// Topic is the forwarder's topic, forwarder.Config.ForwarderTopic.
	// Defaults to "forwarder_topic", as Watermill's does.
	Topic string

	// Schema holds the forwarder's tables. It is quoted as it is. Defaults to "public".
	Schema string

	// Table is the table of messages, if the adapter's GenerateMessagesTableName says otherwise:
	// the bare name without quotes. Defaults to "watermill_" and Topic.
	Table string

	// OffsetsTable is the table of the forwarder's position, if the adapter's
	// GenerateMessagesOffsetsTableName says otherwise: the bare name without quotes. Defaults to
	// "watermill_offsets_" and Topic.
	OffsetsTable string

	// StateTable is the prefix of the names of the Source's own tables, in the same schema. At
	// most 48 bytes. Defaults to Table and "_leat".
	StateTable string

	// ConsumerGroup is the consumer group of the forwarder's subscriber. Defaults to "", as watermill-sql's
	// does.
	ConsumerGroup string

	// Group names an independent reader, with its own lease and position. Valid
	// UTF-8 without NUL, at most 200 bytes, not beginning with "_".
	// Defaults to "default".
	Group string

	// KeyFunc returns the key of a message for its destination; to keep its present partition,
	// use the function that watermill-kafka's NewWithPartitioningMarshaler was given. A row for
	// which it fails counts as malformed. It is called from one goroutine and must not change the
	// message. Defaults to metadata outbox.HeaderKey; without it a message is unordered.
	KeyFunc outbox.KeyFunc

	// Shadow reads while a forwarder keeps running: the Source starts at the forwarder's position
	// and does not change that, so that everything is sent twice. It is for a trial run into
	// another destination. Defaults to false: the Source replaces the forwarder.
	Shadow bool

	// TakeOverTimeout bounds the wait, in Acquire and HandBack, for the batch that a forwarder is
	// sending. It must be less than the relay's lease. Defaults to 2 s, or half the lease if that
	// is less.
	TakeOverTimeout time.Duration

	// MigrateLockTimeout bounds each wait for a lock in Migrate.
	// Defaults to 5 s.
	MigrateLockTimeout time.Duration

	// AllowAsyncCommit lets a relay start on a database whose synchronous_commit is off. A
	// message can then be sent although a crash of the server undoes its transaction. Defaults to
	// false.
	AllowAsyncCommit bool

	// Logger receives messages for operators. Defaults to slog.Default() as of New, warnings and
	// errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Topic = cmp.Or(c.Topic, "forwarder_topic")
	c.Schema = cmp.Or(c.Schema, "public")
	c.Table = cmp.Or(c.Table, "watermill_"+c.Topic)
	c.OffsetsTable = cmp.Or(c.OffsetsTable, "watermill_offsets_"+c.Topic)
	c.StateTable = cmp.Or(c.StateTable, c.Table+"_leat")
	c.Group = cmp.Or(c.Group, "default")
	c.MigrateLockTimeout = cmp.Or(c.MigrateLockTimeout, 5*time.Second)
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	for _, n := range []struct {
		field, name string
		suffixes    []string
	}{
		{"Table", c.Table, nil},
		{"OffsetsTable", c.OffsetsTable, nil},
		{"StateTable", c.StateTable, []string{longestSuffix}},
	} {
		err := pgmigrate.Names{Schema: c.Schema, Table: n.name}.Validate(n.suffixes...)
		if err == nil && strings.ContainsAny(c.Schema+n.name, "{}") {
			err = fmt.Errorf("%w: braces", pgmigrate.ErrInvalidName)
		}
		if err != nil {
			return outbox.ConfigError("Schema, "+n.field, strconv.Quote(c.Schema)+", "+strconv.Quote(n.name), err.Error())
		}
	}
	if len(c.Group) > 200 || !utf8.ValidString(c.Group) || strings.ContainsRune(c.Group, 0) || c.Group[0] == '_' {
		return outbox.ConfigError("Group", strconv.Quote(c.Group), "must be valid UTF-8 without NUL, of at most 200 bytes, not beginning with _")
	}
	if c.TakeOverTimeout != 0 && c.TakeOverTimeout < time.Millisecond {
		return outbox.ConfigError("TakeOverTimeout", c.TakeOverTimeout, "must be at least 1ms")
	}
	if c.MigrateLockTimeout < time.Millisecond {
		return outbox.ConfigError("MigrateLockTimeout", c.MigrateLockTimeout, "must be at least 1ms")
	}
	return nil
}

// state are the names of our own tables.
func (c Config) state() pgmigrate.Names {
	return pgmigrate.Names{Schema: c.Schema, Table: c.StateTable}
}

func (c Config) log() pgmigrate.Names {
	return pgmigrate.Names{Schema: c.Schema, Table: c.Table}
}

func (c Config) offsets() pgmigrate.Names {
	return pgmigrate.Names{Schema: c.Schema, Table: c.OffsetsTable}
}
