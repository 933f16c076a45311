package adopt_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/adopt"
)

// articles is an adopted table of what most articles show.
func articles(t *testing.T) (*testenv.Database, *adopt.Table) {
	t.Helper()
	db := shaped(t)
	table := recognized(t, db, adopt.Config{Table: "outbox_events"})
	require.NoError(t, table.Adopt(t.Context()))
	return db, table
}

const article = `INSERT INTO outbox_events (aggregate_type, aggregate_id, event_type, payload) VALUES ('order', $1, 'paid', '{"a": 1}')`

// places are the keys in leat's outbox, in its order.
func places(t *testing.T, db *testenv.Database) []string {
	t.Helper()
	found, err := db.Pool.Query(t.Context(), "SELECT coalesce(key, 'none') FROM leat.outbox ORDER BY seq")
	require.NoError(t, err)
	keys, err := pgx.CollectRows(found, pgx.RowTo[string])
	require.NoError(t, err)
	return keys
}

// TestO1_RowsThatArePending are in front of all that come later, in their order, and are taken once, whatever is adopted again.
func TestO1_RowsThatArePending(t *testing.T) {
	t.Parallel()
	db := shaped(t)
	for i := range 12 {
		exec(t, db, article, strconv.Itoa(i))
	}
	exec(t, db, "UPDATE outbox_events SET sent_at = now() WHERE id = 1")
	table := recognized(t, db, adopt.Config{Table: "outbox_events"})
	plan, err := table.Plan(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 11, plan.Pending)
	require.Equal(t, []string{"2", "3", "4"}, []string{plan.First[0].ID, plan.First[1].ID, plan.First[2].ID})
	require.Equal(t, outbox.Message{ID: "2", Topic: "order", Key: "1", Type: "paid", Payload: []byte(`{"a": 1}`), OccurredAt: plan.First[0].OccurredAt}, plan.First[0])
	require.Empty(t, places(t, db), "a plan changes nothing")

	require.NoError(t, table.Adopt(t.Context()))
	exec(t, db, article, "new")
	require.NoError(t, table.Adopt(t.Context()))
	exec(t, db, "UPDATE outbox_events SET attempts = attempts + 1")
	exec(t, db, "DELETE FROM outbox_events WHERE sent_at IS NOT NULL")
	require.Equal(t, []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "new"}, places(t, db))
	plan, err = table.Plan(t.Context())
	require.NoError(t, err)
	require.True(t, plan.Adopted)
	require.Zero(t, plan.Pending)

	exec(t, db, "ALTER TABLE outbox_events DISABLE TRIGGER USER")
	exec(t, db, article, "unseen")
	require.NoError(t, table.Adopt(t.Context()), "what triggers that did not fire have missed is pending")
	require.Contains(t, places(t, db), "unseen")
}

// TestO2_Release marks what leat has, so that the old worker goes on with what is new; rows that leat does not have stay.
func TestO2_Release(t *testing.T) {
	t.Parallel()
	db, table := articles(t)
	pending := func() (keys []string) {
		rows, err := db.Pool.Query(t.Context(), "SELECT aggregate_id FROM outbox_events WHERE sent_at IS NULL ORDER BY id")
		require.NoError(t, err)
		keys, err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return keys
	}
	exec(t, db, article, "1")
	require.NoError(t, table.Release(t.Context()))
	require.Empty(t, pending())
	exec(t, db, article, "2")
	require.NoError(t, table.Release(t.Context()), "a second time changes nothing")
	require.Equal(t, []string{"2"}, pending())
	require.Equal(t, []string{"1"}, places(t, db))

	// Adopted without what was pending: the old worker has to send it.
	half, err := adopt.New(db.Pool, adopt.Config{Table: "outbox_events", ID: "id", Topic: "aggregate_type", Payload: "payload"})
	require.NoError(t, err)
	require.NoError(t, half.Adopt(t.Context()))
	exec(t, db, article, "3")
	require.NoError(t, table.Release(t.Context()))
	require.Equal(t, []string{"2", "3"}, pending())

	require.NoError(t, table.Adopt(t.Context()))
	exec(t, db, "ALTER TABLE outbox_events DISABLE TRIGGER USER")
	exec(t, db, article, "4")
	require.NoError(t, table.Release(t.Context()))
	require.Equal(t, []string{"2", "3", "4"}, pending(), "triggers that do not fire have missed one")
	_, err = adopt.New(db.Pool, adopt.Config{Table: "outbox_events", ID: "id", Topic: "aggregate_type", Payload: "payload", Done: "sent_at = now()"})
	require.NoError(t, err)
}

// TestO1_StatementsOfManyRows: INSERT … SELECT, and COPY. Each row is passed on once, in the order of the rows.
//
//leat:level 2
func TestO1_StatementsOfManyRows(t *testing.T) {
	t.Parallel()
	db, _ := articles(t)
	const many, copied = 10000, 1000
	began := time.Now()
	exec(t, db, `INSERT INTO outbox_events (aggregate_type, aggregate_id, event_type, payload)
		SELECT 'order', (n % 50)::text, 'paid', to_jsonb(n) FROM generate_series(1, $1) AS n`, many)
	t.Logf("INSERT of %d rows: %s", many, time.Since(began))
	rows := [][]any{}
	for n := range copied {
		rows = append(rows, []any{"order", strconv.Itoa(n % 50), "paid", many + 1 + n})
	}
	began = time.Now()
	_, err := db.Pool.CopyFrom(t.Context(), pgx.Identifier{"outbox_events"}, []string{"aggregate_type", "aggregate_id", "event_type", "payload"}, pgx.CopyFromRows(rows))
	require.NoError(t, err)
	t.Logf("COPY of %d rows: %s", copied, time.Since(began))
	var count, inOrder int
	require.NoError(t, db.Pool.QueryRow(t.Context(), `SELECT count(*), count(*) FILTER (WHERE n = place)
		FROM (SELECT convert_from(payload, 'UTF8')::int AS n, row_number() OVER (ORDER BY seq) AS place FROM leat.outbox) AS o`).Scan(&count, &inOrder))
	require.Equal(t, []int{many + copied, many + copied}, []int{count, inOrder})
}

// TestO5_ATransactionThatStaysOpen holds up nobody, and what others commit is sent before it.
func TestO5_ATransactionThatStaysOpen(t *testing.T) {
	t.Parallel()
	db, _ := articles(t)
	open := begin(t, db)
	must(t, open, article, "open")
	rolledBack := begin(t, db)
	must(t, rolledBack, article, "rolled back")
	for range 3 {
		exec(t, db, article, "open") // the same key
	}
	require.NoError(t, rolledBack.Rollback(t.Context()))
	require.Equal(t, []string{"open", "open", "open"}, places(t, db))
	require.NoError(t, open.Commit(t.Context()))
	var id, last string
	require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT min(id) FROM outbox_events").Scan(&id))
	require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT id_text FROM leat.outbox ORDER BY seq DESC LIMIT 1").Scan(&last))
	require.Equal(t, id, last)
}

const openOutbox = `INSERT INTO openoutbox_events (event_id, event_type, partition_key, payload, headers, available_at)
	VALUES (gen_random_uuid(), 'order.paid', $1, $2, $3::text::jsonb, now() + $4::text::interval)`

// TestO6_WhatCannotBeSent is refused in the statement that inserts it, with the table, the column and the value, so that its
// transaction does not commit without its event. What is pending and cannot be sent is found before anything changes.
func TestO6_WhatCannotBeSent(t *testing.T) {
	t.Parallel()
	db := shaped(t)
	table := recognized(t, db, adopt.Config{Table: "openoutbox_events"})
	for _, c := range []struct{ payload, headers, says string }{
		{"x", "[1, 2]", `headers '[1, 2]' must be an object of texts (headers is made of headers)`},
		{"x", `"traceparent"`, `headers '"traceparent"' must be an object of texts`},
		{"x", `{"event-id": "7"}`, `headers["event-id"] '"7"' is set by leat itself`},
		{strings.Repeat("x", outbox.DefaultMaxPayloadBytes+1), "{}", `payload '983041 bytes' is larger than 983040 bytes (payload is made of payload)`},
	} {
		says := `leat: a row of "public"."openoutbox_events" cannot be sent: ` + c.says
		exec(t, db, openOutbox, "k", []byte(c.payload), c.headers, "0")
		_, err := table.Plan(t.Context())
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, table.Adopt(t.Context()), says)
		is, err := table.Adopted(t.Context())
		require.NoError(t, err)
		require.False(t, is, "nothing has changed")
		exec(t, db, "TRUNCATE openoutbox_events")

		require.NoError(t, table.Adopt(t.Context()))
		_, err = db.Pool.Exec(t.Context(), openOutbox, "k", []byte(c.payload), c.headers, "0")
		require.ErrorContains(t, err, says)
		require.NoError(t, table.Release(t.Context()))
	}
	require.Empty(t, places(t, db))
	text, err := adopt.New(db.Pool, adopt.Config{Table: "outbox_events", ID: "id", Topic: "aggregate_type", Payload: "payload", HeadersJSON: "event_type"})
	require.NoError(t, err)
	require.NoError(t, text.Adopt(t.Context()))
	_, err = db.Pool.Exec(t.Context(), article, "1")
	require.ErrorContains(t, err, `headers cannot be made: invalid input syntax for type json (headers is made of event_type), row id '`)
}

// TestAdopt_KeysHeadersAndTimes: rows without a key have no order, headers are texts, and what is not due waits.
func TestAdopt_KeysHeadersAndTimes(t *testing.T) {
	t.Parallel()
	db := shaped(t)
	exec(t, db, openOutbox, nil, []byte("pending"), `{"a": "b"}`, "0")
	exec(t, db, openOutbox, nil, []byte("pending"), `{}`, "1 hour")
	table := recognized(t, db, adopt.Config{Table: "openoutbox_events"})
	require.NoError(t, table.Adopt(t.Context()))
	exec(t, db, openOutbox, nil, []byte{0xff}, `{"n": 1.50, "yes": true, "null": null, "in": {"a": [1]}}`, "0")
	exec(t, db, openOutbox, "k", []byte{}, `null`, "0")
	exec(t, db, openOutbox, "k", []byte("later"), `{}`, "1 hour")
	found, err := db.Pool.Query(t.Context(), "SELECT concat_ws(' ', topic, coalesce(key, 'none'), payload, headers) FROM leat.outbox ORDER BY seq")
	require.NoError(t, err)
	all, err := pgx.CollectRows(found, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{
		`order.paid none \x70656e64696e67 {"a": "b"}`,
		`order.paid none \xff {"n": "1.50", "in": "{\"a\": [1]}", "yes": "true"}`,
		`order.paid k \x`,
	}, all)
	var delayed int
	require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM leat.outbox_delayed WHERE not_before > now() + interval '50 min'").Scan(&delayed))
	require.Equal(t, 2, delayed)
}

// TestO2_RowsThatAreRefused by a key of idempotency are not events.
func TestO2_RowsThatAreRefused(t *testing.T) {
	t.Parallel()
	db := shaped(t)
	require.NoError(t, recognized(t, db, adopt.Config{Table: "order_outbox", Key: "idempotency_key"}).Adopt(t.Context()))
	const row = `INSERT INTO order_outbox (id, idempotency_key, event_type, event_subtype) VALUES (gen_random_uuid(), $1, 'Order', 'Paid')`
	exec(t, db, row, "1")
	exec(t, db, row+" ON CONFLICT (idempotency_key) DO NOTHING", "1")
	exec(t, db, row+" ON CONFLICT (idempotency_key) DO UPDATE SET status = 'NEW'", "1")
	_, err := db.Pool.Exec(t.Context(), row, "1")
	require.ErrorContains(t, err, "duplicate key")
	require.Equal(t, []string{"1"}, places(t, db))
}
