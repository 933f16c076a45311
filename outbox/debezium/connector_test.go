package debezium_test

import (
	"encoding/json"
	"maps"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/debezium"
)

func TestFromConnector(t *testing.T) {
	t.Parallel()
	cfg, slot, err := debezium.FromConnector(map[string]string{
		"slot.name": "s", "publication.name": "p", "table.include.list": "shop.events",
		"transforms": "other, outbox", "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
		"transforms.outbox.table.field.event.id": "i", "transforms.outbox.table.field.event.key": "k",
		"transforms.outbox.table.field.event.payload": "p", "transforms.outbox.table.field.event.timestamp": "t",
		"transforms.outbox.route.by.field": "r", "transforms.outbox.route.topic.replacement": "x.$1",
		"transforms.outbox.table.fields.additional.placement": "a:header, b:header:bee,type:header:event-type,id:header:event-id",
	})
	require.NoError(t, err)
	require.Equal(t, debezium.SlotConfig{Slot: "s", Publication: "p"}, slot)
	cfg.LockTimeout = 0
	require.Equal(t, debezium.Config{
		Schema: "shop", Table: "events", IDColumn: "i", KeyColumn: "k", RouteColumn: "r", Topic: "x." + debezium.RoutedByValue,
		PayloadColumn: "p", TimeColumn: "t", TypeColumn: "type", Headers: map[string]string{"a": "a", "bee": "b"},
		LeatSchema: "leat", Outbox: "outbox",
	}, cfg)
}

// TestFromConnector_LeatsOwn: the documented connector's table needs no triggers.
func TestFromConnector_LeatsOwn(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/debezium/leat-outbox.json")
	require.NoError(t, err)
	var config map[string]string
	require.NoError(t, json.Unmarshal(text, &config))
	cfg, slot, err := debezium.FromConnector(config)
	require.NoError(t, err)
	require.True(t, cfg.Own())
	require.Equal(t, debezium.SlotConfig{Slot: "leat_debezium", Publication: "leat"}, slot)
}

func TestFromConnector_RefusesWhatLeatDoesNot(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"table.include.list": "public.outbox", "transforms": "outbox",
		"transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
	}
	_, _, err := debezium.FromConnector(good)
	require.NoError(t, err)
	for name, value := range map[string]string{
		"transforms": "", "table.include.list": "public.a,public.b",
		"transforms.outbox.table.expand.json.payload":         "true",
		"transforms.outbox.table.fields.additional.placement": "a:envelope",
		"transforms.outbox.route.topic.regex":                 "(.*)",
	} {
		config := maps.Clone(good)
		config[name] = value
		_, _, err := debezium.FromConnector(config)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, name)
	}
}
