package adopt

import (
	"maps"
	"slices"
)

// shape describes a kind of table, and how to make messages from its rows.
type shape struct {
	name    string
	columns []string // every table of the shape has them
	cfg     Config
}

// shapes returns the known shapes, more specific ones first. Two with the same columns are told
// apart by the database. For each it is known what the old worker sends, except a topic that is
// not in the table.
func shapes() []shape {
	const at = `rtrim(rtrim(to_char(NEW.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '0'), '.') || 'Z'`
	return []shape{
		{
			"a worker that wraps the payload in an envelope (event_id, aggregate, next_retry_at)",
			[]string{"id", "event_id", "aggregate", "aggregate_id", "event_type", "payload", "status", "created_at", "sent_at", "next_retry_at"},
			Config{
				ID: "event_id", Key: "aggregate_id", Type: "event_type", Time: "created_at",
				Payload: "jsonb_build_object('eventId', NEW.event_id, 'type', NEW.event_type, 'occurredAt', " + at + ", 'data', NEW.payload)",
				Headers: map[string]string{"eventType": "event_type", "schemaVersion": "'1'"},
				Pending: "status IN ('pending', 'processing')", Order: "id", Done: "status = 'sent', sent_at = now()",
			},
		},
		{
			"routing keys of a type and a subtype (idempotency_key, event_subtype)",
			[]string{"id", "idempotency_key", "payload", "headers", "status", "created_at", "published_at", "event_type", "event_subtype"},
			Config{
				ID: "id", Topic: "lower(NEW.event_type) || '.' || lower(NEW.event_subtype)", Time: "created_at",
				Payload: "coalesce(NEW.payload::text, '')", HeadersJSON: "headers",
				Pending: "status IN ('NEW', 'RETRYING')", Order: "created_at", Done: "status = 'PUBLISHED', published_at = now()",
			},
		},
		{
			"the Open Outbox specification, v0.1",
			[]string{"event_id", "event_type", "partition_key", "payload", "headers", "status", "available_at", "delivered_at", "created_at"},
			Config{
				ID: "event_id", Topic: "event_type", Key: "partition_key", Payload: "payload", Time: "created_at",
				NotBefore: "available_at", HeadersJSON: "headers",
				Pending: "status IN ('PENDING', 'DELIVERING')", Order: "created_at", Done: "status = 'DELIVERED', delivered_at = now()",
			},
		},
		{
			"Debezium's outbox event router",
			[]string{"id", "aggregatetype", "aggregateid", "type", "payload"},
			Config{
				ID: "id", Topic: "'outbox.event.' || NEW.aggregatetype", Key: "aggregateid", Type: "type", Payload: "payload",
				Headers: map[string]string{"id": "id"},
			},
		},
		{
			"a topic of the aggregate's type (aggregate_type, sent_at)",
			[]string{"id", "aggregate_type", "aggregate_id", "event_type", "payload", "created_at", "sent_at"},
			Config{
				ID: "id", Topic: "aggregate_type", Key: "aggregate_id", Type: "event_type", Payload: "payload", Time: "created_at",
				Pending: "sent_at IS NULL", Order: "id", Done: "sent_at = now()",
			},
		},
		{
			"a whole message in JSON (data, state, locked_by)",
			[]string{"id", "data", "state", "created_on", "locked_by", "processed_on", "number_of_attempts"},
			Config{
				ID: "id", Topic: member("Topic"), Key: member("Key"), Payload: "FROM_BASE64(" + member("Body") + ")", Time: "created_on",
				HeadersJSON: "(SELECT JSON_OBJECTAGG(h.n, h.v) FROM JSON_TABLE(CONVERT(NEW.data USING utf8mb4), '$.Headers[*]' " +
					"COLUMNS (n VARCHAR(255) PATH '$.Key', v TEXT PATH '$.Value')) AS h)",
				Pending: "state = 0", Order: "created_on, id", Done: "state = 1, processed_on = UTC_TIMESTAMP()",
			},
		},
		{
			"a payload of an aggregate (aggregate_id, payload, status)",
			[]string{"id", "aggregate_id", "payload", "status", "created_at"},
			Config{
				ID: "id", Key: "aggregate_id", Payload: "payload", Time: "created_at",
				Pending: "status = 'PENDING'", Order: "created_at",
			},
		},
	}
}

// member is the SQL expression of a member of the JSON in the column data, as text.
func member(name string) string {
	return "JSON_UNQUOTE(JSON_EXTRACT(CONVERT(NEW.data USING utf8mb4), '$." + name + "'))"
}

// guesses are the usual names of columns, by field, more likely ones first.
func guesses() map[string][]string {
	return map[string][]string{
		"ID":          {"event_id", "message_id", "uuid", "id"},
		"Topic":       {"topic", "destination", "routing_key", "channel", "aggregate_type", "event_type"},
		"Key":         {"partition_key", "message_key", "routing_key", "key", "aggregate_id", "entity_id"},
		"Type":        {"event_type", "message_type", "type", "event_name"},
		"Payload":     {"payload", "data", "body", "message", "event", "content"},
		"Time":        {"occurred_at", "created_at", "created_on"},
		"HeadersJSON": {"headers", "metadata"},
	}
}

// recognize fills in the fields that cfg leaves empty.
func recognize(columns []column, cfg Config) (Config, string) {
	has := func(name string) bool {
		return slices.ContainsFunc(columns, func(c column) bool { return c.name == name })
	}
	for _, s := range shapes() {
		if !slices.ContainsFunc(s.columns, func(name string) bool { return !has(name) }) {
			return cfg.over(s.cfg), s.name
		}
	}
	names := guesses()
	guess := func(field string) string {
		if i := slices.IndexFunc(names[field], has); i >= 0 {
			return names[field][i]
		}
		return ""
	}
	proposal := Config{
		ID: guess("ID"), Topic: guess("Topic"), Key: guess("Key"), Type: guess("Type"), Payload: guess("Payload"), Time: guess("Time"),
		HeadersJSON: guess("HeadersJSON"),
	}
	for _, sent := range []string{"sent_at", "published_at", "processed_at"} {
		if has(sent) && proposal.Pending == "" {
			proposal.Pending, proposal.Done = sent+" IS NULL", sent+" = now()"
		}
	}
	return cfg.over(proposal), ""
}

// over returns c with its empty fields filled in from the proposal.
func (c Config) over(proposal Config) Config {
	if c.Order == c.ID {
		c.Order = "" // this is only the default
	}
	for _, f := range []struct{ set, from *string }{
		{&c.ID, &proposal.ID},
		{&c.Topic, &proposal.Topic},
		{&c.Key, &proposal.Key},
		{&c.Type, &proposal.Type},
		{&c.Payload, &proposal.Payload},
		{&c.Time, &proposal.Time},
		{&c.NotBefore, &proposal.NotBefore},
		{&c.HeadersJSON, &proposal.HeadersJSON},
		{&c.Pending, &proposal.Pending},
		{&c.Order, &proposal.Order},
		{&c.Done, &proposal.Done},
	} {
		if *f.set == "" {
			*f.set = *f.from
		}
	}
	if c.Headers == nil {
		c.Headers = maps.Clone(proposal.Headers)
	}
	return c
}
