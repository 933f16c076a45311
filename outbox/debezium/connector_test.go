package debezium_test

import (
	"encoding/json"
	"maps"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/adopt"
	"github.com/leat-go/leat/outbox/debezium"
)

//leat:level 0
func TestFromConnector(t *testing.T) {
	t.Parallel()
	cfg, slot, err := debezium.FromConnector(map[string]string{
		"slot.name": "s", "publication.name": "p", "plugin.name": "pgoutput", "table.include.list": "shop.events",
		"transforms": " outbox", "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
		"transforms.outbox.table.field.event.id": "i", "transforms.outbox.table.field.event.key": "k",
		"transforms.outbox.table.field.event.payload": "p", "transforms.outbox.table.field.event.timestamp": "t",
		"transforms.outbox.route.by.field": "r", "transforms.outbox.route.topic.replacement": "x.$1",
		"transforms.outbox.table.fields.additional.placement": "a:header, b:header:bee,type:header:event-type,i:header:event-id,t:header:event-time",
	})
	require.NoError(t, err)
	require.Equal(t, debezium.SlotConfig{Slot: "s", Publication: "p"}, slot)
	require.Equal(t, adopt.Config{
		Schema: "shop", Table: "events", ID: "i", Key: "k", Topic: `'x.' || NEW."r"::text || ''`,
		Payload: "p", Time: "t", Type: "type", Headers: map[string]string{"id": "i", "a": "a", "bee": "b"},
	}, cfg)
}

// TestFromConnector_WhatChangesNothing is allowed.
//
//leat:level 0
func TestFromConnector_WhatChangesNothing(t *testing.T) {
	t.Parallel()
	_, _, err := debezium.FromConnector(map[string]string{
		"plugin.name": "pgoutput", "table.include.list": "public.outbox", "transforms": "outbox",
		"transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
		"skipped.operations":     "u,d,t", "slot.drop.on.stop": "false", "column.exclude.list": "public.outbox.note",
		"column.propagate.source.type": "public.outbox.id", "message.key.columns": "",
	})
	require.NoError(t, err)
}

// TestFromConnector_LeatsOwn: the documented connector's table needs no triggers.
//
//leat:level 0
func TestFromConnector_LeatsOwn(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/debezium/leat-outbox.json")
	require.NoError(t, err)
	var config map[string]string
	require.NoError(t, json.Unmarshal(text, &config))
	cfg, slot, err := debezium.FromConnector(config)
	require.NoError(t, err)
	require.Equal(t, []string{"leat", "outbox"}, []string{cfg.Schema, cfg.Table})
	require.Equal(t, debezium.SlotConfig{Slot: "leat_debezium", Publication: "leat", SnapshotMode: "no_data"}, slot)
}

//leat:level 0
func TestFromConnector_RefusesWhatLeatDoesNot(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"plugin.name": "pgoutput", "table.include.list": "public.outbox", "transforms": "outbox",
		"transforms.rename.type": "org.apache.kafka.connect.transforms.RegexRouter",
		"transforms.drop.type":   "org.apache.kafka.connect.transforms.DropHeaders", "transforms.drop.headers": "eventType",
		"transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
	}
	_, _, err := debezium.FromConnector(good)
	require.NoError(t, err)
	const placement = "transforms.outbox.table.fields.additional.placement"
	for _, bad := range []struct{ option, value string }{
		{"transforms", ""},
		{"transforms", "outbox,rename"},
		{"transforms", "outbox,drop"},
		{"transforms", "outbox,outbox"},
		{"table.include.list", "public.a,public.b"},
		{"plugin.name", ""},
		{"plugin.name", "decoderbufs"},
		{"binary.handling.mode", "base64"},
		{"key.converter", "org.apache.kafka.connect.json.JsonConverter"},
		{"value.converter", "org.apache.kafka.connect.json.JsonConverter"},
		{"transforms.outbox.predicate", "isOutbox"},
		{"column.mask.with.12.chars", "public.outbox.payload"},
		{"column.mask.hash.SHA-256.with.salt.x", "public.outbox.aggregateid"},
		{"column.truncate.to.20.chars", "public.outbox.payload"},
		{"message.key.columns", "public.outbox:id"},
		{"skipped.operations", "u, c"},
		{"slot.drop.on.stop", "true"},
		{"flush.lsn.source", "false"},
		{"converters", "mine"},
		{"post.processors", "mine"},
		{"transforms.outbox.table.expand.json.payload", "true"},
		{"transforms.outbox.route.topic.regex", "(.*)"},
		{placement, "a:envelope"},
		{placement, "dedup_key:header:event-id"},
		{placement, "dedup_key:header:id"},
		{placement, "made_at:header:event-time,id:header:event-time"},
		{placement, "id:header:" + outbox.HeaderKey},
	} {
		config := maps.Clone(good)
		config[bad.option] = bad.value
		_, _, err := debezium.FromConnector(config)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, bad)
		require.ErrorContains(t, err, bad.option)
		require.ErrorContains(t, err, strconv.Quote(bad.value))
	}
}
