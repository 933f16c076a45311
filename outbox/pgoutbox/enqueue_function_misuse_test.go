package pgoutbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestFunction_RefusesAsGo: the functions refuse what Go refuses, and name the same field.
func TestFunction_RefusesAsGo(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	long := strings.Repeat("x", 5000)
	for name, m := range map[string]outbox.Message{
		"no topic":         {},
		"long topic":       {Topic: long[:256]},
		"long id":          {Topic: "t", ID: long[:513]},
		"long key":         {Topic: "t", Key: long[:4097]},
		"long type":        {Topic: "t", Type: long[:513]},
		"large payload":    {Topic: "t", Payload: make([]byte, outbox.DefaultMaxPayloadBytes+1)},
		"reserved header":  {Topic: "t", Headers: map[string]string{outbox.HeaderEventID: "x"}},
		"nameless header":  {Topic: "t", Headers: map[string]string{"": "x"}},
		"large headers":    {Topic: "t", Headers: map[string]string{"h": strings.Repeat("x", outbox.MaxHeaderBytes)}},
		"year 10000":       {Topic: "t", OccurredAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"due in year 9999": {Topic: "t", NotBefore: time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600))},
	} {
		for way, enqueue := range map[string]func(context.Context, pgx.Tx, outbox.Message) error{
			"fields": func(ctx context.Context, tx pgx.Tx, m outbox.Message) error { return enqueueFields(ctx, tx, &m) },
			"array": func(ctx context.Context, tx pgx.Tx, m outbox.Message) error {
				return enqueueArray(ctx, tx, []outbox.Message{{Topic: "t"}, m})
			},
		} {
			tx := begin(t, ob, db)
			var invalid *outbox.InvalidMessageError
			require.ErrorAs(t, ob.Enqueue(t.Context(), tx.Tx, m), &invalid, name)
			err := enqueue(t.Context(), tx.Tx, m)
			require.True(t, pgerr.Is(err, "22023"), "%s, %s: %v", name, way, err)
			field, _, _ := strings.Cut(invalid.Field, "[")
			field = map[string]string{"OccurredAt": "occurred_at", "NotBefore": "not_before"}[field] + " "
			if field == " " {
				field = strings.ToLower(invalid.Field[:2])
			}
			require.ErrorContains(t, err, "invalid message: "+field, "%s, %s", name, way)
			tx.rollback()
		}
	}
	require.Zero(t, stored(t, db))
}

// TestFunction_RefusesMalformedArrays: the function guesses nothing, and stores nothing of a malformed
// call.
func TestFunction_RefusesMalformedArrays(t *testing.T) {
	t.Parallel()
	_, db := newOutbox(t, pgoutbox.Config{})
	for array, want := range map[string]string{
		`NULL`:                             "must be a JSON array",
		`'{"topic":"t"}'`:                  "must be a JSON array",
		`'[{"topic":"t","payload":""},7]'`: "message 1: 7 is not an object",
		`'[{"topic":"t","payload":"","pyaload":""}]'`:            "no field is called 'pyaload'",
		`'[{"topic":"t"}]'`:                                      "needs either payload or payload_base64",
		`'[{"topic":"t","payload":"","payload_base64":""}]'`:     "needs either payload or payload_base64",
		`'[{"topic":"t","payload":null}]'`:                       "payload NULL must not be NULL",
		`'[{"topic":"t","payload":"","headers":{"h":1}}]'`:       "headers[h] '1' must be a text",
		`'[{"topic":"t","payload":"","headers":["h"]}]'`:         "must be an object of texts",
		`'[{"topic":"t","payload":"","not_before":"infinity"}]'`: "not_before 'infinity' must lie",
		`'[{"topic":null,"payload":""}]'`:                        "topic NULL must not be empty",
	} {
		_, err := db.Pool.Exec(t.Context(), `SELECT leat.outbox_enqueue(`+array+`::jsonb)`)
		require.True(t, pgerr.Is(err, "22023"), "%s: %v", array, err)
		require.ErrorContains(t, err, want, array)
	}
	exec(t, db, `SELECT leat.outbox_enqueue('[]')`)
	require.Zero(t, stored(t, db))
}

// TestFunction_LocksAsGo: writers of a key wait for one another, whether they enqueue in Go or in SQL.
func TestFunction_LocksAsGo(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	inGo := func(w *writer, key string) error { return ob.Enqueue(t.Context(), w.Tx, keyed(key, "x")...) }
	inSQL := func(w *writer, key string) error { return enqueueFunction(t.Context(), w.Tx, keyed(key, "x")...) }
	asArray := func(w *writer, key string) error { return enqueueFunction(t.Context(), w.Tx, keyed(key, "x", "y")...) }
	for name, pair := range map[string][2]func(*writer, string) error{
		"SQL behind Go": {inGo, inSQL}, "Go behind SQL": {inSQL, inGo}, "SQL behind SQL": {inSQL, inSQL},
		"array behind Go": {inGo, asArray}, "Go behind array": {asArray, inGo},
	} {
		first, second := begin(t, ob, db), begin(t, ob, db)
		require.NoError(t, pair[0](first, "k"), name)
		other := begin(t, ob, db)
		require.NoError(t, pair[1](other, "another key"), name)
		other.rollback()
		drawn := query1[int64](t, db, `SELECT pg_sequence_last_value('leat.outbox_seq_seq')`)
		done := make(chan error, 1)
		go func() { done <- pair[1](second, "k") }()
		awaitBlocked(t, db, second.pid())
		require.Equal(t, drawn, query1[int64](t, db, `SELECT pg_sequence_last_value('leat.outbox_seq_seq')`), "%s: no number while it waits", name)
		first.commit()
		require.NoError(t, <-done, name)
		second.commit()
	}
}

// TestFunction_BoundsItsLocks: rule N5 holds in SQL, too, and a savepoint that is rolled back returns the
// locks it took.
func TestFunction_BoundsItsLocks(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	w := begin(t, ob, db)
	w.exec(`SELECT leat.outbox_enqueue('t', 'p', key => 'k' || n % 3) FROM generate_series(1, 1200) n`)
	w.exec(`SELECT leat.outbox_enqueue('t', 'p', key => 'm' || n) FROM generate_series(1, 500) n`)
	w.exec(`SAVEPOINT s; SELECT leat.outbox_enqueue('t', 'p', key => 's' || n) FROM generate_series(1, 400) n; ROLLBACK TO s`)
	w.exec(`SELECT leat.outbox_enqueue('t', 'p', key => 'l' || n) FROM generate_series(1, 497) n`)
	_, err := w.Exec(t.Context(), `SELECT leat.outbox_enqueue('t', 'p', key => 'one more')`)
	require.True(t, pgerr.Is(err, "54000"), "%v", err)
	w.rollback()

	w = begin(t, ob, db)
	w.exec(`SELECT leat.outbox_enqueue((SELECT jsonb_agg(jsonb_build_object('topic', 't', 'payload', '', 'key', 'k' || n)) FROM generate_series(1, 1001) n))`)
	require.Equal(t, 1, query1[int](t, db, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND pid = $1`, w.pid()),
		"the outbox as a whole")
	w.commit()
	require.Equal(t, 1001, stored(t, db))
}

// TestFunction_NeedsExecuteOnly: a role without any right to a table can enqueue with EXECUTE. Without it,
// neither these functions nor the ones they call work.
func TestFunction_NeedsExecuteOnly(t *testing.T) {
	t.Parallel()
	_, db := newOutbox(t, pgoutbox.Config{})
	role := "leat_test_" + uuid.NewString()
	exec(t, db, `CREATE ROLE "`+role+`"; GRANT USAGE ON SCHEMA leat TO "`+role+`"`)
	t.Cleanup(func() { dropRole(t, db, role) })
	as := func(statement string) error {
		return pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), `SET LOCAL ROLE "`+role+`"`)
			if err == nil {
				_, err = tx.Exec(t.Context(), statement)
			}
			return err
		})
	}
	calls := []string{
		`SELECT leat.outbox_enqueue('t', 'p', key => 'k')`, `SELECT leat.outbox_enqueue('t', 'p'::bytea, not_before => now() + '1h')`,
		`SELECT leat.outbox_enqueue('[{"topic":"t","payload":"p","key":"k"}]')`,
	}
	for _, call := range append(calls, `SELECT leat.outbox_put('t', 'p', 'k', '', 'id', '{}', now(), NULL)`) {
		require.True(t, pgerr.Is(as(call), "42501"), call)
	}
	//nolint:dupword // types
	exec(t, db, fmt.Sprintf(`
		GRANT EXECUTE ON FUNCTION leat.outbox_enqueue(jsonb) TO %[1]q;
		GRANT EXECUTE ON FUNCTION leat.outbox_enqueue(text, bytea, text, text, text, jsonb, timestamptz, timestamptz) TO %[1]q;
		GRANT EXECUTE ON FUNCTION leat.outbox_enqueue(text, text, text, text, text, jsonb, timestamptz, timestamptz) TO %[1]q`, role))
	for _, call := range calls {
		require.NoError(t, as(call), call)
	}
	require.True(t, pgerr.Is(as(`SELECT * FROM leat.outbox`), "42501"))
	require.Equal(t, 2, stored(t, db))
}

// TestFunction_InATrigger: a trigger stores the message with the change that it describes, or neither is
// stored.
func TestFunction_InATrigger(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, `
		CREATE TABLE orders (id int PRIMARY KEY, state text);
		CREATE FUNCTION orders_changed() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM leat.outbox_enqueue(coalesce(jsonb_agg(jsonb_build_object('topic', 'orders', 'key', o.id::text,
				'type', lower(TG_OP), 'payload', to_jsonb(o)::text, 'headers', jsonb_build_object('table', TG_TABLE_NAME))), '[]'))
			FROM changed o;
			RETURN NULL;
		END $$;
		CREATE TRIGGER orders_inserted AFTER INSERT ON orders REFERENCING NEW TABLE AS changed
			FOR EACH STATEMENT EXECUTE FUNCTION orders_changed();
		CREATE TRIGGER orders_updated AFTER UPDATE ON orders REFERENCING NEW TABLE AS changed
			FOR EACH STATEMENT EXECUTE FUNCTION orders_changed()`)
	exec(t, db, `INSERT INTO orders VALUES (1, 'new'), (2, 'new')`)
	failed := errors.New("no")
	require.ErrorIs(t, pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `UPDATE orders SET state = 'lost'`)
		return errors.Join(err, failed)
	}), failed)
	exec(t, db, `UPDATE orders SET state = 'paid' WHERE id = 1`)
	got := readAll(t, acquire(t, ob, ""), 10)
	require.Equal(t, []string{`{"id": 1, "state": "new"}`, `{"id": 2, "state": "new"}`, `{"id": 1, "state": "paid"}`}, payloads(got))
	require.Equal(t, []string{"insert", "insert", "update"}, []string{got[0].Type, got[1].Type, got[2].Type})
	require.Equal(t, []string{"1", "2", "1"}, []string{got[0].Key, got[1].Key, got[2].Key})
	require.Equal(t, map[string]string{"table": "orders"}, got[2].Headers)
	exec(t, db, `UPDATE orders SET state = 'none' WHERE id = 3; INSERT INTO orders SELECT n, 'bulk' FROM generate_series(10, 2009) n`)
	require.Equal(t, 2003, stored(t, db), "no row is not a message, and many rows are one call")
}
