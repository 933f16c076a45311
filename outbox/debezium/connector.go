package debezium

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/leat-go/leat/outbox"
)

// router is the transformation whose place leat takes.
const router = "io.debezium.transforms.outbox.EventRouter"

// FromConnector reads the table and the slot of a connector from its configuration, as Kafka
// Connect has it. The table is the only one of table.include.list. It returns an error that
// wraps outbox.ErrInvalidConfig, with the name of the option, if there is no outbox event
// router, or it is configured to do what leat does not.
func FromConnector(config map[string]string) (Config, SlotConfig, error) {
	slot := SlotConfig{Slot: config["slot.name"], Publication: config["publication.name"]}
	schema, table, ok := strings.Cut(config["table.include.list"], ".")
	if !ok || strings.ContainsAny(table, ",.*\\[(") {
		return Config{}, slot, optionError(config, "table.include.list", "must be one table with its schema")
	}
	prefix, err := routerOf(config)
	if err != nil {
		return Config{}, slot, err
	}
	option := func(name string) string { return config[prefix+name] }
	for name, allowed := range refused() {
		if value := option(name); value != "" && value != allowed {
			return Config{}, slot, optionError(config, prefix+name, "leat cannot do this")
		}
	}
	topic := strings.ReplaceAll(option("route.topic.replacement"), "$1", RoutedByValue)
	c := Config{
		Schema: schema, Table: table,
		IDColumn: option("table.field.event.id"), KeyColumn: option("table.field.event.key"),
		RouteColumn: option("route.by.field"), Topic: topic,
		PayloadColumn: option("table.field.event.payload"), TimeColumn: option("table.field.event.timestamp"),
	}
	c.TypeColumn, c.Headers, err = placements(config, prefix+"table.fields.additional.placement")
	return c.withDefaults(), slot, err
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
	}
}

// routerOf returns the prefix of the options of the one outbox event router.
func routerOf(config map[string]string) (prefix string, err error) {
	for name := range strings.SplitSeq(config["transforms"], ",") {
		at := "transforms." + strings.TrimSpace(name) + "."
		if config[at+"type"] == router {
			return at, nil
		}
	}
	return "", optionError(config, "transforms", "must have an outbox event router ("+router+")")
}

// placements reads what is placed where: column:header or column:header:alias, separated by
// commas. What leat sets itself is no header; the column of outbox.HeaderEventType is that of the
// message's type.
func placements(config map[string]string, name string) (typeColumn string, headers map[string]string, err error) {
	headers = map[string]string{}
	for placement := range strings.SplitSeq(config[name], ",") {
		if placement = strings.TrimSpace(placement); placement == "" {
			continue
		}
		column, where, _ := strings.Cut(placement, ":")
		where, alias, _ := strings.Cut(where, ":")
		if where != "header" || column == "" {
			return "", nil, optionError(config, name, "leat can place columns in headers alone")
		}
		switch alias = cmp.Or(alias, column); {
		case alias == outbox.HeaderEventType:
			typeColumn = column
		case alias != headerID && !outbox.ReservedHeader(alias):
			headers[alias] = column
		}
	}
	return typeColumn, headers, nil
}

func optionError(config map[string]string, name, reason string) error {
	return outbox.ConfigError(name, strconv.Quote(config[name]), reason)
}
