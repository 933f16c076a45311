package debezium

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
)

// Config describes an outbox table of Debezium's, in the words of the options of its
// outbox event router, and the outbox that its rows go to. The zero value is for a router
// with all of its defaults; FromConnector reads one from a connector's configuration.
type Config struct {
	// Schema and Table are the name of the table.
	// Default to "public" and "outbox".
	Schema, Table string
	// IDColumn has the id of the event (table.field.event.id).
	// Defaults to "id".
	IDColumn string
	// KeyColumn has the key (table.field.event.key). A row without a key is unordered.
	// Defaults to "aggregateid".
	KeyColumn string
	// RouteColumn has the value that the topic is made of (route.by.field).
	// Defaults to "aggregatetype".
	RouteColumn string
	// Topic is the topic; RoutedByValue in it is replaced by the value of RouteColumn
	// (route.topic.replacement).
	// Defaults to "outbox.event.${routedByValue}".
	Topic string
	// PayloadColumn has the payload, which must not be NULL: bytea as it is, json, jsonb and
	// texts in UTF-8 (table.field.event.payload).
	// Defaults to "payload".
	PayloadColumn string
	// TypeColumn has the type of the event. It becomes the message's type; the router does
	// not send it unless it is asked to.
	// Defaults to none.
	TypeColumn string
	// TimeColumn has the time of the event, a timestamp; one without a time zone is in UTC
	// (table.field.event.timestamp).
	// Defaults to none: the time of the statement.
	TimeColumn string
	// Headers are further headers by their names, each with its column
	// (table.fields.additional.placement). NULL is no header. The header "id" is always sent, with
	// the id of the event, as the router sends it.
	// Defaults to none.
	Headers map[string]string

	// LeatSchema and Outbox are the schema and the table of leat's outbox.
	// Default to "leat" and "outbox".
	LeatSchema, Outbox string

	// LockTimeout bounds the wait for the table's writers, in Adopt and Release.
	// Defaults to 5 s.
	LockTimeout time.Duration
}

// RoutedByValue stands in Config.Topic for the value of the column.
const RoutedByValue = "${routedByValue}"

func (c Config) withDefaults() Config {
	c.Schema = cmp.Or(c.Schema, "public")
	c.Table = cmp.Or(c.Table, "outbox")
	c.IDColumn = cmp.Or(c.IDColumn, "id")
	c.KeyColumn = cmp.Or(c.KeyColumn, "aggregateid")
	c.RouteColumn = cmp.Or(c.RouteColumn, "aggregatetype")
	c.Topic = cmp.Or(c.Topic, "outbox.event."+RoutedByValue)
	c.PayloadColumn = cmp.Or(c.PayloadColumn, "payload")
	c.LeatSchema = cmp.Or(c.LeatSchema, "leat")
	c.Outbox = cmp.Or(c.Outbox, "outbox")
	c.LockTimeout = cmp.Or(c.LockTimeout, 5*time.Second)
	c.Headers = maps.Clone(c.Headers)
	return c
}

func (c Config) validate() error {
	if err := c.table().Validate(); err != nil {
		return outbox.ConfigError("Schema, Table", strconv.Quote(c.Schema)+", "+strconv.Quote(c.Table), err.Error())
	}
	err := c.names().Validate("_debezium_0123456789abcdef_enqueue")
	if err == nil && strings.ContainsAny(c.LeatSchema+c.Outbox, "{}") {
		err = fmt.Errorf("%w: braces", pgmigrate.ErrInvalidName)
	}
	if err != nil {
		return outbox.ConfigError("LeatSchema, Outbox", strconv.Quote(c.LeatSchema)+", "+strconv.Quote(c.Outbox), err.Error())
	}
	if c.Own() {
		return outbox.ConfigError("Table", strconv.Quote(c.Table), "is leat's own outbox, which a relay reads without triggers")
	}
	for field, name := range c.columns() {
		if err := (pgmigrate.Names{Schema: "s", Table: name}).Validate(); err != nil {
			return outbox.ConfigError(field, strconv.Quote(name), err.Error())
		}
	}
	for name := range c.Headers {
		if name == "" || name == headerID || outbox.ReservedHeader(name) || !quotable(name) {
			return outbox.ConfigError("Headers", strconv.Quote(name), "is empty, cannot be stored, or is set without being asked for")
		}
	}
	if !quotable(c.Topic) {
		return outbox.ConfigError("Topic", strconv.Quote(c.Topic), "cannot be stored")
	}
	if c.LockTimeout < time.Millisecond {
		return outbox.ConfigError("LockTimeout", c.LockTimeout, "must be at least 1ms")
	}
	return nil
}

// quotable reports whether s can stand in the body of a function.
func quotable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsRune(s, 0) && !strings.Contains(s, "$leat$")
}

// headerID is the header that the router sends the id in.
const headerID = "id"

// columns are the columns that are read, by the field that names them.
func (c Config) columns() map[string]string {
	columns := map[string]string{
		"IDColumn": c.IDColumn, "KeyColumn": c.KeyColumn, "RouteColumn": c.RouteColumn, "PayloadColumn": c.PayloadColumn,
	}
	if c.TypeColumn != "" {
		columns["TypeColumn"] = c.TypeColumn
	}
	if c.TimeColumn != "" {
		columns["TimeColumn"] = c.TimeColumn
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		columns[fmt.Sprintf("Headers[%q]", name)] = c.Headers[name]
	}
	return columns
}

// Own reports whether the table is leat's own, which a relay reads as it is: New refuses it.
func (c Config) Own() bool {
	c = c.withDefaults()
	return c.Schema == c.LeatSchema && c.Table == c.Outbox
}

func (c Config) table() pgmigrate.Names { return pgmigrate.Names{Schema: c.Schema, Table: c.Table} }

func (c Config) names() pgmigrate.Names {
	return pgmigrate.Names{Schema: c.LeatSchema, Table: c.Outbox}
}

// mark tells the functions and the setting of this table from those of others.
func (c Config) mark() string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(c.table().Qualified("")))
	return fmt.Sprintf("%016x", sum.Sum64())
}
