package debezium_test

import (
	"fmt"

	"github.com/leat-go/leat/outbox/debezium"
)

// The table that a connector relays, for adopt.New and Table.Adopt, and its slot, for NewSlot.
func ExampleFromConnector() {
	table, slot, err := debezium.FromConnector(map[string]string{
		"connector.class": "io.debezium.connector.postgresql.PostgresConnector",
		"slot.name":       "shop", "plugin.name": "pgoutput", "table.include.list": "public.outbox",
		"transforms":             "outbox",
		"transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
		"transforms.outbox.route.topic.replacement":           "shop.${routedByValue}",
		"transforms.outbox.table.fields.additional.placement": "type:header:eventType",
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(table.Schema, table.Table, table.Topic, table.Headers, slot.Slot)
	// Output: public outbox 'shop.' || NEW."aggregatetype"::text || '' map[eventType:type id:id] shop
}
