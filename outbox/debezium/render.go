package debezium

import (
	"embed"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/sqlfile"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statements are the SQL of the package. Of adopt and release the names are not filled in.
type statements struct {
	adopt, release, columns, adopted string
	slot, pending, mark              string
	createSlot, dropSlot             string
	publish, published               string
}

func loadStatements() (statements, error) {
	var s statements
	render := func(sql string) (string, error) { return strings.ReplaceAll(sql, "@{primary}", pgerr.Primary), nil }
	err := sqlfile.Load(sqlFiles, render, map[string]*string{
		"adopt": &s.adopt, "release": &s.release, "columns": &s.columns, "adopted": &s.adopted,
		"slot": &s.slot, "pending": &s.pending, "mark": &s.mark,
		"create_slot": &s.createSlot, "drop_slot": &s.dropSlot,
		"publish": &s.publish, "published": &s.published,
	})
	return s, err
}

// render fills in the names of the outbox, @{…}, and those of the table, {…}.
func (t *Table) render(sql string, types map[string]string) (string, error) {
	c := t.cfg
	sql, err := c.names().Render(sql)
	mark := c.mark()
	return strings.NewReplacer(
		"{note}", c.names().Qualified("_debezium_"+mark+"_note"),
		"{enqueue}", c.names().Qualified("_debezium_"+mark+"_enqueue"),
		"{setting}", literal("leat.debezium_"+mark),
		"{table}", c.table().Qualified(""),
		"{topic}", c.topic(),
		"{payload}", payload(c.PayloadColumn, types[c.PayloadColumn]),
		"{key}", text(c.KeyColumn),
		"{type}", text(c.TypeColumn),
		"{id}", text(c.IDColumn),
		"{headers}", c.headers(),
		"{time}", timeOf(c.TimeColumn, types[c.TimeColumn]),
	).Replace(sql), err
}

// topic is the expression of the topic; NULL, which is refused, if the column is NULL.
func (c Config) topic() string {
	parts := strings.Split(c.Topic, RoutedByValue)
	for i := range parts {
		parts[i] = literal(parts[i])
	}
	return "(" + strings.Join(parts, " || "+text(c.RouteColumn)+" || ") + ")"
}

// headers is the expression of a jsonb object without what is NULL.
func (c Config) headers() string {
	pairs := []string{literal(headerID), text(c.IDColumn)}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		pairs = append(pairs, literal(name), text(c.Headers[name]))
	}
	return "jsonb_strip_nulls(jsonb_build_object(" + strings.Join(pairs, ", ") + "))"
}

// payload is the expression of the bytes that the router sends with a converter that
// leaves them alone.
func payload(column, kind string) string {
	if kind == "bytea" {
		return field(column)
	}
	return "convert_to(" + text(column) + ", 'UTF8')"
}

// timeOf is the expression of the time of the event.
func timeOf(column, kind string) string {
	switch {
	case column == "":
		return "NULL::timestamptz"
	case kind == "timestamp without time zone":
		return "(" + field(column) + " AT TIME ZONE 'UTC')"
	default:
		return field(column)
	}
}

// text is the expression of a column's text, NULL for no column.
func text(column string) string {
	if column == "" {
		return "NULL::text"
	}
	return field(column) + "::text"
}

func field(column string) string { return "NEW." + pgx.Identifier{column}.Sanitize() }

// literal quotes a text for any setting of standard_conforming_strings.
func literal(s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return " E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}
