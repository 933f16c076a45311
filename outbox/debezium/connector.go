package debezium

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/adopt"
)

// headerID is the header that the router sends the id in.
const headerID = "id"

// router is the transformation that leat replaces.
const router = "io.debezium.transforms.outbox.EventRouter"

// FromConnector reads the table and the slot of a connector from its configuration, as Kafka
// Connect has it. The table is the only one of table.include.list, and may be leat's own. Once
// adopted, its messages are those that the router sends. It returns an error that wraps
// outbox.ErrInvalidConfig, with the name of the option, if there is no outbox event router, or it
// is configured to do what leat does not.
func FromConnector(config map[string]string) (adopt.Config, SlotConfig, error) {
	slot := SlotConfig{Slot: config["slot.name"], Publication: config["publication.name"], SnapshotMode: config["snapshot.mode"]}
	if err := sendsAsLeat(config); err != nil {
		return adopt.Config{}, slot, err
	}
	schema, table, ok := strings.Cut(config["table.include.list"], ".")
	if !ok || strings.ContainsAny(table, ",.*\\[(") {
		return adopt.Config{}, slot, optionError(config, "table.include.list", "must be one table with its schema")
	}
	prefix, err := routerOf(config)
	if err != nil {
		return adopt.Config{}, slot, err
	}
	option := func(name string) string { return config[prefix+name] }
	for name, allowed := range refused() {
		if value := option(name); value != "" && value != allowed {
			return adopt.Config{}, slot, optionError(config, prefix+name, "leat cannot do this")
		}
	}
	c := adopt.Config{
		Schema: schema, Table: table,
		ID: cmp.Or(option("table.field.event.id"), "id"), Key: cmp.Or(option("table.field.event.key"), "aggregateid"),
		Topic:   topic(cmp.Or(option("route.topic.replacement"), "outbox.event."+routedByValue), cmp.Or(option("route.by.field"), "aggregatetype")),
		Payload: cmp.Or(option("table.field.event.payload"), "payload"), Time: option("table.field.event.timestamp"),
	}
	c, err = place(c, config, prefix+"table.fields.additional.placement")
	return c, slot, err
}

// routedByValue in route.topic.replacement stands for the value of the column; $1 does as well.
const routedByValue = "${routedByValue}"

// topic is the expression of the topic; NULL, which is refused, if the column is NULL.
func topic(replacement, column string) string {
	parts := strings.Split(strings.ReplaceAll(replacement, "$1", routedByValue), routedByValue)
	for i := range parts {
		parts[i] = literal(parts[i])
	}
	return strings.Join(parts, " || NEW."+pgx.Identifier{column}.Sanitize()+"::text || ")
}

// literal quotes a text in a way that works with any setting of standard_conforming_strings.
func literal(s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return " E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

// refused are options of the router that change what is sent in ways that leat does not,
// each with the value that changes nothing.
func refused() map[string]string {
	return map[string]string{
		"table.expand.json.payload":                "false",
		"table.field.event.schema.version":         "",
		"route.topic.regex":                        "(?<routedByValue>.*)",
		"route.tombstone.on.empty.payload":         "false",
		"table.op.invalid.behavior":                "warn",
		"tracing.with.context.field.only":          "false",
		"table.fields.additional.error.on.missing": "true",
		"predicate": "", // rows that it leaves out are sent as they are
	}
}

// routerOf returns the prefix of the options of the one outbox event router.
func routerOf(config map[string]string) (prefix string, err error) {
	for name := range strings.SplitSeq(config["transforms"], ",") {
		at := "transforms." + strings.TrimSpace(name) + "."
		switch kind := config[at+"type"]; {
		case kind == router && prefix == "":
			prefix = at
		// leat's own table has the id in another header.
		case kind != "org.apache.kafka.connect.transforms.DropHeaders" || config[at+"headers"] != headerID:
			return "", optionError(config, "transforms", "must be one outbox event router ("+router+"): leat cannot do others")
		}
	}
	if prefix == "" {
		return "", optionError(config, "transforms", "must have an outbox event router ("+router+")")
	}
	return prefix, nil
}

// sendsAsLeat refuses a connector that reads the log with a plugin that Slot does not support, or
// that sends other bytes than leat. A converter that is not named is the worker's.
func sendsAsLeat(config map[string]string) error {
	const (
		text   = "org.apache.kafka.connect.storage.StringConverter"
		binary = "io.debezium.converters.BinaryDataConverter"
		older  = "io.debezium.converters.ByteBufferConverter" // its name before Debezium 2
		bytes  = "org.apache.kafka.connect.converters.ByteArrayConverter"
	)
	allowed := []struct {
		option string
		values []string
	}{
		{"plugin.name", []string{"pgoutput"}}, // the default is another
		{"binary.handling.mode", []string{"", "bytes"}},
		{"key.converter", []string{"", text}},
		{"value.converter", []string{"", text, binary, older, bytes}},
	}
	for _, a := range allowed {
		if !slices.Contains(a.values, config[a.option]) {
			return optionError(config, a.option, "must be "+a.values[len(a.values)-1]+", or leat would not send the same")
		}
	}
	return sendsAll(config)
}

// sendsAll refuses a connector that changes values or leaves rows out, and one that handles its
// slot in a way that the steps of a Handoff do not expect.
func sendsAll(config map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(config)) {
		value := config[name]
		changes := strings.HasPrefix(name, "column.mask.") || strings.HasPrefix(name, "column.truncate.") ||
			name == "message.key.columns" || name == "converters" || name == "post.processors"
		switch {
		case changes && value != "":
			return optionError(config, name, "leat cannot do this")
		case name == "skipped.operations" && skips(value, "c"):
			return optionError(config, name, "must not have c: leat leaves out no insert")
		case name == "slot.drop.on.stop" && value != "false":
			return optionError(config, name, "must be false: the slot is asked what is left once the connector is stopped")
		case name == "flush.lsn.source" && value != "true":
			return optionError(config, name, "must be true: the slot has to tell what was sent")
		}
	}
	return nil
}

// skips reports whether an operation is in a comma-separated list.
func skips(list, operation string) bool {
	for o := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(o) == operation {
			return true
		}
	}
	return false
}

// place reads the placement of columns: column:header or column:header:alias, separated by
// commas. The column of outbox.HeaderEventType is the message's type, and that of
// outbox.HeaderEventTime its time. What leat sets itself is not a header. The header "id" is
// always sent, with the id of the event, as the router sends it.
func place(c adopt.Config, config map[string]string, name string) (adopt.Config, error) {
	c.Headers = map[string]string{headerID: c.ID}
	for placement := range strings.SplitSeq(config[name], ",") {
		if placement = strings.TrimSpace(placement); placement == "" {
			continue
		}
		column, where, _ := strings.Cut(placement, ":")
		where, alias, _ := strings.Cut(where, ":")
		if where != "header" || column == "" {
			return c, optionError(config, name, "leat can place columns in headers alone")
		}
		switch alias = cmp.Or(alias, column); {
		case alias == outbox.HeaderEventType:
			c.Type = column
		case alias != headerID && !outbox.ReservedHeader(alias):
			c.Headers[alias] = column
		case alias == outbox.HeaderEventTime && (c.Time == "" || c.Time == column):
			c.Time = column
		case column != c.ID || alias == outbox.HeaderEventTime || alias == outbox.HeaderKey || alias == outbox.HeaderNotBefore:
			return c, optionError(config, name, "leat sets the header "+strconv.Quote(alias)+" itself, to something else")
		}
	}
	return c, nil
}

func optionError(config map[string]string, name, reason string) error {
	return outbox.ConfigError(name, strconv.Quote(config[name]), reason)
}
