package adopt_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/adopt"
)

const article = `INSERT INTO outbox_events (aggregate_type, aggregate_id, event_type, payload) VALUES ('order', ?, 'paid', '{"a": 1}')`

// TestO1_RowsThatArePending: rows that are pending at the Adopt come before all later ones, are taken
// once, and are marked as sent by Release.
func TestO1_RowsThatArePending(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db database) {
		t.Helper()
		for i := range 12 {
			db.exec(t, article, strconv.Itoa(i))
		}
		db.exec(t, "UPDATE outbox_events SET sent_at = now() WHERE id = 1")
		table := db.recognized(t, adopt.Config{Table: "outbox_events"})
		plan, err := table.Plan(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 11, plan.Pending)
		require.Equal(t, outbox.Message{ID: "2", Topic: "order", Key: "1", Type: "paid", Payload: []byte(`{"a": 1}`), OccurredAt: plan.First[0].OccurredAt}, plan.First[0])
		require.False(t, plan.First[0].OccurredAt.IsZero())
		require.Contains(t, plan.SQL, "CREATE TRIGGER `leat_adopt_")
		require.Empty(t, db.places(t), "a plan changes nothing")

		require.NoError(t, table.Adopt(t.Context()))
		db.exec(t, article, "new")
		require.NoError(t, table.Adopt(t.Context()))
		db.exec(t, "UPDATE outbox_events SET attempts = attempts + 1")
		db.exec(t, "DELETE FROM outbox_events WHERE sent_at IS NOT NULL")
		want := []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "new"}
		require.Equal(t, want, db.places(t))
		is, err := table.Adopted(t.Context())
		require.NoError(t, err)
		require.True(t, is)

		require.NoError(t, table.Release(t.Context()))
		require.Empty(t, db.column(t, "SELECT id FROM outbox_events WHERE sent_at IS NULL"))
		db.exec(t, article, "the worker's")
		require.NoError(t, table.Release(t.Context()))
		require.Equal(t, want, db.places(t))
		require.Len(t, db.column(t, "SELECT id FROM outbox_events WHERE sent_at IS NULL"), 1)

		half, err := adopt.NewSQL(db.DB, db.dialect, adopt.Config{Table: "outbox_events", ID: "id", Topic: "aggregate_type", Payload: "payload"})
		require.NoError(t, err)
		require.NoError(t, half.Adopt(t.Context()))
		require.NoError(t, table.Release(t.Context()))
		require.Len(t, db.column(t, "SELECT id FROM outbox_events WHERE sent_at IS NULL"), 1, "leat does not have it")
	})
}

// TestO1_AStatementOfManyRows: each row of a large INSERT is passed on once.
func TestO1_AStatementOfManyRows(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db database) {
		t.Helper()
		require.NoError(t, db.recognized(t, adopt.Config{Table: "outbox_events"}).Adopt(t.Context()))
		db.exec(t, "CREATE TABLE digits (d INT PRIMARY KEY)")
		db.exec(t, "INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)")
		db.exec(t, `INSERT INTO outbox_events (aggregate_type, aggregate_id, event_type, payload)
			SELECT 'order', a.d, 'paid', '1' FROM digits a, digits b, digits c, digits d`)
		require.Equal(t, []string{"10000"}, db.column(t, "SELECT COUNT(DISTINCT id) FROM leat_outbox WHERE shard >= 0"))
		for _, pair := range db.column(t, "SELECT DISTINCT CONCAT(msg_key, '=', shard) FROM leat_outbox WHERE shard >= 0") {
			key, shard, _ := strings.Cut(pair, "=")
			require.Equal(t, strconv.Itoa((5^int(key[0]))*19&63), shard)
		}
	})
}

// TestO5_ATransactionThatStaysOpen: an open transaction holds up no other, not even one with the same key.
func TestO5_ATransactionThatStaysOpen(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db database) {
		t.Helper()
		require.NoError(t, db.recognized(t, adopt.Config{Table: "outbox_events"}).Adopt(t.Context()))
		open, err := db.BeginTx(context.WithoutCancel(t.Context()), nil)
		require.NoError(t, err)
		defer func() { _ = open.Rollback() }()
		_, err = open.ExecContext(t.Context(), article, "k")
		require.NoError(t, err)
		db.exec(t, article, "k")
		require.Len(t, db.places(t), 1)
		require.NoError(t, open.Commit())
		require.Len(t, db.places(t), 2)
	})
}

// TestO6_WhatCannotBeSent: a row that cannot be sent is refused by its own INSERT, and the error names the
// table, the column and the mistake.
func TestO6_WhatCannotBeSent(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db database) {
		t.Helper()
		db.exec(t, "CREATE TABLE mine (id INT PRIMARY KEY, topic VARCHAR(300), body LONGBLOB, headers TEXT, at TIMESTAMP(6) NULL, due DATETIME NULL, sent INT NOT NULL DEFAULT 0)")
		cfg := adopt.Config{Table: "mine", ID: "id", Topic: "topic", Payload: "body", HeadersJSON: "headers", Headers: map[string]string{"id": "id"}, Pending: "sent = 0"}
		table, err := adopt.NewSQL(db.DB, db.dialect, cfg)
		require.NoError(t, err)
		const insert = "INSERT INTO mine (id, topic, body, headers) VALUES (1, ?, ?, ?)"
		for _, c := range []struct {
			topic, body, headers any
			says, plan           string
		}{
			{"t", "x", "[1, 2]", "headers (headers): must be an object: [1, 2]", "must be an object: [1, 2]"},
			{"t", "x", "{", "headers (headers): is not JSON: {", "is not JSON: {"},
			{"t", "x", `{"event-id": "7"}`, "headers (headers): has a header that leat sets itself", "has a header that leat sets itself"},
			{"t", strings.Repeat("x", outbox.DefaultMaxPayloadBytes+1), nil, "payload (body) is larger than 983040 bytes: 983041", "Payload is larger than 983040 bytes"},
			{"t", nil, nil, "payload (body) must not be NULL", "payload must not be NULL"},
			{nil, "x", nil, "topic (topic) must not be NULL or empty", "Topic must not be empty"},
			{strings.Repeat("t", 256), "x", nil, "topic (topic) is longer than 255 bytes: 256", "Topic is longer than 255 bytes"},
		} {
			db.exec(t, insert, c.topic, c.body, c.headers)
			_, err := table.Plan(t.Context())
			require.ErrorContains(t, err, c.plan)
			require.ErrorContains(t, table.Adopt(t.Context()), c.plan)
			is, err := table.Adopted(t.Context())
			require.NoError(t, err)
			require.False(t, is, "nothing has changed")
			db.exec(t, "DELETE FROM mine")

			require.NoError(t, table.Adopt(t.Context()))
			_, err = db.ExecContext(t.Context(), insert, c.topic, c.body, c.headers)
			require.ErrorContains(t, err, "leat: a row of mine cannot be sent: "+c.says)
			require.NoError(t, table.Release(t.Context()))
		}
		require.Empty(t, db.places(t))
		for says, wrong := range map[string]adopt.Config{
			`Key = "k": is not a column of`:                {Key: "k"},
			`Time = "body": is of type`:                    {Time: "body"},
			`Topic = "lower(NEW.kind)": Error 1054`:        {Topic: "lower(NEW.kind)"},
			"Schema, LeatSchema = \"x\", \"\": must be em": {Schema: "x"},
		} {
			wrong.Table, wrong.ID, wrong.Payload = "mine", "id", "body"
			if wrong.Topic == "" {
				wrong.Topic = "topic"
			}
			table, err := adopt.NewSQL(db.DB, db.dialect, wrong)
			if err == nil {
				_, err = table.Plan(t.Context())
			}
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.ErrorContains(t, err, says)
		}
	})
}

// TestAdopt_KeysHeadersAndTimes: headers are text, times are in UTC whatever the producer's time zone, and
// rows that are not due yet wait.
func TestAdopt_KeysHeadersAndTimes(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db database) {
		t.Helper()
		db.exec(t, "CREATE TABLE mine (id INT PRIMARY KEY, k VARCHAR(20), body LONGBLOB NOT NULL, headers TEXT, at TIMESTAMP(6) NULL, due DATETIME NULL, sent INT NOT NULL DEFAULT 0)")
		db.exec(t, "INSERT INTO mine (id, body, at, due) VALUES (1, 'pending', NULL, '2999-01-01'), (2, 'pending', '2026-01-05 10:00:00', NULL)")
		table, err := adopt.NewSQL(db.DB, db.dialect, adopt.Config{
			Table: "mine", ID: "id", Topic: "'it''s \\\\ é'", Key: "k", Payload: "body", HeadersJSON: "headers", Headers: map[string]string{"id": "id", "none": "NULLIF(1, 1)"},
			Time: "at", NotBefore: "due", Pending: "sent = 0",
		})
		require.NoError(t, err)
		require.NoError(t, table.Adopt(t.Context()))
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		for _, statement := range []string{
			"SET time_zone = '+05:00'", "SET sql_mode = ''", "SET NAMES latin1",
			"INSERT INTO mine VALUES (3, 'k', X'FF', '{\"n\": 1.5, \"null\": null, \"e\": \"x\"}', '2026-01-05 15:00:00', NULL, 0)",
			"INSERT INTO mine VALUES (4, 'k', '', 'null', NULL, '2999-01-01', 0)",
		} {
			_, err := conn.ExecContext(t.Context(), statement)
			require.NoError(t, err, statement)
		}
		const at = int64(1767607200) * 1e6
		require.Equal(t, []string{
			fmt.Sprint(`2|it's \ é||70656E64696E67|1|2|`, at),
			fmt.Sprint(`3|it's \ é|k|FF|3|x|1.5|3|`, at),
		}, db.column(t, `SELECT CONCAT_WS('|', id, topic, msg_key, HEX(payload), JSON_LENGTH(CONVERT(headers USING utf8mb4)),
			JSON_UNQUOTE(JSON_EXTRACT(CONVERT(headers USING utf8mb4), '$.e')), JSON_EXTRACT(CONVERT(headers USING utf8mb4), '$.n'),
			JSON_UNQUOTE(JSON_EXTRACT(CONVERT(headers USING utf8mb4), '$.id')), occurred_at) FROM leat_outbox WHERE shard >= 0 ORDER BY seq`))
		require.Equal(t, []string{"1", "4"}, db.column(t, "SELECT id FROM leat_outbox_delayed ORDER BY no"))
	})
}

// TestO2_RowsThatAreRefused: rows that a unique key refuses are not sent.
func TestO2_RowsThatAreRefused(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db database) {
		t.Helper()
		require.NoError(t, db.recognized(t, adopt.Config{Table: "outbox_events"}).Adopt(t.Context()))
		const row = ` INTO outbox_events (id, aggregate_type, aggregate_id, event_type, payload) VALUES (7, 'order', 'k', 'paid', '1')`
		db.exec(t, "INSERT"+row)
		db.exec(t, "INSERT IGNORE"+row)
		db.exec(t, "INSERT"+row+" ON DUPLICATE KEY UPDATE attempts = attempts + 1")
		_, err := db.ExecContext(t.Context(), "INSERT"+row)
		require.ErrorContains(t, err, "Duplicate entry")
		require.Equal(t, []string{"k"}, db.places(t))
	})
}
