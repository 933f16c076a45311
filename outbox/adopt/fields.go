package adopt

import (
	"fmt"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/leat-go/leat/outbox"
)

// expression is one field of a message, as in Config.
type expression struct {
	field string // of Config
	token string // in the files of sql, "" for a header
	kind  kind
	sql   string
}

// kind is the type that an expression must have.
type kind int

const (
	texts kind = iota
	bodies
	objects
	times
)

// expressions returns those that are set, and always those of Topic, ID and Payload.
func (c Config) expressions() []expression {
	all := []expression{
		{"ID", "id", texts, c.ID},
		{"Topic", "topic", texts, c.Topic},
		{"Payload", "payload", bodies, c.Payload},
	}
	for _, e := range []expression{
		{"Key", "key", texts, c.Key},
		{"Type", "type", texts, c.Type},
		{"Time", "time", times, c.Time},
		{"NotBefore", "not_before", times, c.NotBefore},
		{"HeadersJSON", "headers_json", objects, c.HeadersJSON},
	} {
		if e.sql != "" {
			all = append(all, e)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		all = append(all, expression{fmt.Sprintf("Headers[%q]", name), "", texts, c.Headers[name]})
	}
	return all
}

// column is a column of the table.
type column struct {
	name     string
	nullable bool
}

// word is a text that could be meant as a column or a topic, and is not a valid SQL expression.
var word = regexp.MustCompile(`^[\pL_][\pL\d_$.-]*$`)

// over returns an expression over the row NEW: quoted if it is a column.
func (e expression) over(table string, columns []column, quote func(string) string) (string, error) {
	switch {
	case e.sql == "":
		return "", outbox.ConfigError(e.field, strconv.Quote(e.sql), "must not be empty")
	case slices.ContainsFunc(columns, func(c column) bool { return c.name == e.sql }):
		return "NEW." + quote(e.sql), nil
	case word.MatchString(e.sql) && !strings.HasPrefix(strings.ToUpper(e.sql), "NEW."):
		return "", outbox.ConfigError(e.field, strconv.Quote(e.sql), "is not a column of "+table+": a fixed text is written in quotes, as '"+e.sql+"'")
	default:
		return "(" + e.sql + ")", nil
	}
}

// source is the name of an expression in errors that producers see.
func (e expression) source() string {
	const most = 40
	short := []rune(e.sql)
	if len(short) > most {
		short = append(short[:most], '…')
	}
	return string(short)
}

// mark distinguishes the functions and triggers of this table from those of other tables.
func mark(table string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(table))
	return fmt.Sprintf("%016x", sum.Sum64())
}

// literal quotes a text in a way that works with any setting of standard_conforming_strings.
func literal(s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return " E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}
