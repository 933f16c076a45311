package adopt

import (
	"cmp"
	"maps"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/leat-go/leat/outbox"
)

// Config describes how to make a message from a row of a table, and the outbox it goes to.
//
// The fields from ID to Headers are the name of a column, or an expression in SQL over the row,
// whose columns are NEW.column: "lower(NEW.event_type)". A fixed text is an expression as well:
// "'orders'". An expression must always yield the same value for a row. On PostgreSQL it is
// evaluated with an empty search_path: qualify functions of your own with their schema.
type Config struct {
	// Schema and Table are the name of the table.
	// Schema defaults to "public" on PostgreSQL. On MySQL and MariaDB it must be empty: the table is in the
	// database that connections of the pool begin in.
	Schema, Table string

	// ID is the message's id. Required.
	ID string
	// Topic is the message's topic. Required.
	Topic string
	// Key is the message's key. A row without one, NULL or empty, is unordered.
	// Defaults to no key.
	Key string
	// Type is the message's type.
	// Defaults to no type.
	Type string
	// Payload is the message's payload: bytes as they are, JSON and texts in UTF-8. NULL is refused. Required.
	Payload string
	// Time is the time of the event, a timestamp; one without a time zone is in UTC.
	// Defaults to the time of the statement.
	Time string
	// NotBefore delays the message until then: a timestamp, like Time.
	// Defaults to no delay.
	NotBefore string
	// HeadersJSON is a JSON object whose members are headers. A value that is not text is sent as
	// its JSON, and a null is skipped. Defaults to none.
	HeadersJSON string
	// Headers are further headers by their names. A NULL is skipped. Defaults to none.
	Headers map[string]string

	// Pending is the condition of rows that have not been sent, such as "status = 'pending'".
	// Adopt passes those rows on, before all that are inserted later. Defaults to none: existing
	// rows are left to the old worker.
	Pending string
	// Order is the order of the pending rows, as in ORDER BY. Defaults to ID.
	Order string
	// Done is the assignment that the old worker makes to a row that it has sent, as in UPDATE …
	// SET. Release applies it to all pending rows, since leat has them. It needs Pending.
	// Defaults to none: a worker that is started after Release sends them again, with the same
	// ids.
	Done string

	// LeatSchema and Outbox are the schema and the table of leat's outbox.
	// Default to "leat" and "outbox" on PostgreSQL. On MySQL and MariaDB, Outbox defaults to "leat_outbox", and
	// there is no schema.
	LeatSchema, Outbox string

	// LockTimeout bounds the wait for the table's writers, in Adopt and Release.
	// Defaults to 5 s.
	LockTimeout time.Duration
}

func (c Config) withDefaults() Config {
	c.Order = cmp.Or(c.Order, c.ID)
	c.LockTimeout = cmp.Or(c.LockTimeout, 5*time.Second)
	c.Headers = maps.Clone(c.Headers)
	return c
}

func (c Config) validate() error {
	if c.Table == "" {
		return outbox.ConfigError("Table", strconv.Quote(c.Table), "must not be empty")
	}
	for _, e := range c.expressions() {
		if !storable(e.sql) {
			return outbox.ConfigError(e.field, strconv.Quote(e.sql), "cannot be stored")
		}
	}
	for name := range c.Headers {
		if name == "" || outbox.ReservedHeader(name) || !storable(name) {
			return outbox.ConfigError("Headers", strconv.Quote(name), "is empty, cannot be stored, or is set without being asked for")
		}
	}
	switch {
	case !storable(c.Pending + c.Order + c.Done):
		return outbox.ConfigError("Pending, Order, Done", strconv.Quote(c.Pending+", "+c.Order+", "+c.Done), "cannot be stored")
	case c.LockTimeout < time.Millisecond:
		return outbox.ConfigError("LockTimeout", c.LockTimeout, "must be at least 1ms")
	default:
		return nil
	}
}

// complete refuses a Config that is only half filled in; Recognize may complete it.
func (c Config) complete() error {
	if c.Done != "" && c.Pending == "" {
		return outbox.ConfigError("Done", strconv.Quote(c.Done), "needs Pending: rows that Adopt has not passed on would be lost")
	}
	return nil
}

// storable reports whether s can be part of the body of an SQL function, which is quoted with $leat$.
func storable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsRune(s, 0) && !strings.Contains(s, "$leat$")
}

// own refuses to adopt leat's own outbox.
func own(table string) error {
	return outbox.ConfigError("Table", strconv.Quote(table), "is leat's own outbox, which a relay reads without triggers")
}
