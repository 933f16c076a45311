package pgoutbox_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// enqueueFunction enqueues as services in other languages do: one message by its fields,
// several as an array.
func enqueueFunction(ctx context.Context, tx pgx.Tx, msgs ...outbox.Message) error {
	if len(msgs) == 1 {
		return enqueueFields(ctx, tx, &msgs[0])
	}
	return enqueueArray(ctx, tx, msgs)
}

func enqueueFields(ctx context.Context, tx pgx.Tx, m *outbox.Message) error {
	payload := m.Payload
	if payload == nil {
		payload = []byte{}
	}
	headers, err := json.Marshal(m.Headers)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `SELECT leat.outbox_enqueue($1, $2::bytea, key => $3, type => $4, id => $5, headers => $6, occurred_at => $7, not_before => $8)`,
		m.Topic, payload, m.Key, m.Type, m.ID, headers, timeOrNull(m.OccurredAt), timeOrNull(m.NotBefore))
	return err
}

func enqueueArray(ctx context.Context, tx pgx.Tx, msgs []outbox.Message) error {
	type object struct {
		Topic   string            `json:"topic"`
		Payload string            `json:"payload_base64"`
		Key     string            `json:"key,omitempty"`
		Type    string            `json:"type,omitempty"`
		ID      string            `json:"id,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
		At      string            `json:"occurred_at,omitempty"`
		Due     string            `json:"not_before,omitempty"`
	}
	objects := make([]object, len(msgs))
	for i, m := range msgs {
		objects[i] = object{
			m.Topic, base64.StdEncoding.EncodeToString(m.Payload), m.Key, m.Type, m.ID, m.Headers,
			timeText(m.OccurredAt), timeText(m.NotBefore),
		}
	}
	raw, err := json.Marshal(objects)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `SELECT leat.outbox_enqueue($1::jsonb)`, raw)
	return err
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.999999-07")
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// TestConformance_Function runs the suite of all outboxes with messages that the SQL functions enqueue,
// except the checks of Go's own errors.
//
//leat:level 2
func TestConformance_Function(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "the same as through pgx, except Enqueue")
	errorsOfGo := []string{"O1_AllOrNothing", "O1_BadInputIsRefused", "O1_EndedTransactionIsRefused"}
	for _, check := range outboxtest.Checks(features()) {
		if slices.Contains(errorsOfGo, check.Name) {
			continue
		}
		t.Run(check.Name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, check.Run(t.Context(), features(), &functionSubject{newSubject(t)}))
		})
	}
}

type functionSubject struct{ subject }

// Begin implements outboxtest.Subject.
func (s *functionSubject) Begin(ctx context.Context) (outboxtest.Tx, error) {
	tx, err := s.db.Pool.Begin(ctx)
	return &functionTx{pgxTx{tx, s.Outbox}}, err
}

type functionTx struct{ pgxTx }

func (x *functionTx) Enqueue(ctx context.Context, msgs ...outbox.Message) error {
	return enqueueFunction(ctx, x.Tx, msgs...)
}

// TestFunction_HashesAsGo: shards, locks and stored ids equal those of the library, bit for bit.
func TestFunction_HashesAsGo(t *testing.T) {
	t.Parallel()
	_, db := newOutbox(t, pgoutbox.Config{})
	text := rapid.StringOfN(rapid.Rune().Filter(func(r rune) bool { return r != 0 }), 0, 200, 512)
	rapid.Check(t, func(rt *rapid.T) {
		keys := rapid.SliceOfN(text, 1, 8).Draw(rt, "keys")
		keys = append(keys, rapid.StringMatching(`[0-9a-fA-F]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).Draw(rt, "uuid"))
		rows, err := db.Pool.Query(context.Background(), `
			SELECT k, leat.outbox_shard(convert_to(k, 'UTF8')), leat.outbox_stored_id(k)::text,
			       leat.outbox_lock('outbox', convert_to('"leat"."outbox"', 'UTF8'), convert_to(k, 'UTF8'))
			FROM unnest($1::text[]) AS k`, keys)
		require.NoError(rt, err)
		var key, id string
		var shard int16
		var lock int64
		n := 0
		_, err = pgx.ForEachRow(rows, []any{&key, &shard, &id, &lock}, func() error {
			n++
			stored, _ := ids.Map(key)
			require.Equal(rt, keyhash.Shard([]byte(key)), shard, "shard of %q", key)
			require.Equal(rt, ids.Text(stored), id, "stored id of %q", key)
			require.Equal(rt, keyhash.Lock("outbox", `"leat"."outbox"`, key), lock, "lock of %q", key)
			return nil
		})
		require.NoError(rt, err)
		require.Len(rt, keys, n)
	})
}

// TestFunction_StoresAsGo: for the same message, the library and the function store the same row.
func TestFunction_StoresAsGo(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC)
	for name, m := range map[string]outbox.Message{
		"least":      {ID: "a text", Topic: "t"},
		"whole":      {ID: "0190163d-8694-739b-aea5-000000000001", Topic: "orders", Key: "ключ", Type: "placed", Payload: []byte("\x00\xff{}"), Headers: map[string]string{"h": "<v>", "ü": ""}, OccurredAt: at},
		"upper id":   {ID: "0190163D-8694-739B-AEA5-000000000001", Topic: "t", Payload: []byte{}},
		"past due":   {ID: "3", Topic: "t", NotBefore: at},
		"the future": {ID: "4", Topic: "t", Key: "k", NotBefore: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		row := func() string {
			defer exec(t, db, `DELETE FROM leat.outbox; DELETE FROM leat.outbox_delayed`)
			return query1[string](t, db, `
				SELECT json_agg(o)::text FROM (
					SELECT NULL AS due, shard, id, id_text, topic, key, type, payload, headers, occurred_at FROM leat.outbox
					UNION ALL
					SELECT not_before, shard, id, id_text, topic, key, type, payload, headers, occurred_at FROM leat.outbox_delayed) o`)
		}
		require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error { return ob.Enqueue(ctx, tx, m) }), name)
		want := row()
		for _, enqueue := range []func(context.Context, pgx.Tx) error{
			func(ctx context.Context, tx pgx.Tx) error { return enqueueFields(ctx, tx, &m) },
			func(ctx context.Context, tx pgx.Tx) error { return enqueueArray(ctx, tx, []outbox.Message{m}) },
		} {
			require.NoError(t, pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error { return enqueue(t.Context(), tx) }), name)
			require.JSONEq(t, want, row(), name)
		}
	}
}

// TestFunction_Text: text is sent as UTF-8, backslashes included; a string literal is text.
func TestFunction_Text(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, `SELECT leat.outbox_enqueue('t', '{"a": "\n\\x41 é"}')`)
	exec(t, db, `SELECT leat.outbox_enqueue('[{"topic": "t", "payload": "{\"b\": 1}"}]')`)
	exec(t, db, `SELECT leat.outbox_enqueue('t', '\xff00'::bytea)`)
	exec(t, db, `SELECT leat.outbox_enqueue('t', to_json(now())::text)`)
	got := payloads(readAll(t, acquire(t, ob, ""), 10))
	require.Len(t, got, 4)
	require.Equal(t, []string{`{"a": "\n\\x41 é"}`, `{"b": 1}`, "\xff\x00"}, got[:3])
}

// TestFunction_NewIDs: without an id, the function makes one of version 7 with the current time and
// returns it.
func TestFunction_NewIDs(t *testing.T) {
	t.Parallel()
	_, db := newOutbox(t, pgoutbox.Config{})
	before := time.Now().Add(-time.Minute)
	one := query1[string](t, db, `SELECT leat.outbox_enqueue('t', 'p')`)
	many := query1[[]string](t, db, `SELECT leat.outbox_enqueue('[{"topic":"t","payload":"1"},{"topic":"t","payload":"2","id":"mine"}]')`)
	require.Len(t, many, 2)
	require.Equal(t, "mine", many[1])
	for _, id := range []string{one, many[0]} {
		stored, canonical := ids.Map(id)
		require.True(t, canonical, id)
		made, ok := ids.Time(stored)
		require.True(t, ok, "%s is of version 7", id)
		require.WithinRange(t, made, before, before.Add(10*time.Minute))
	}
	require.NotEqual(t, one, many[0])
	require.Equal(t, []string{one, many[0], "mine"}, query1[[]string](t, db, `SELECT array_agg(coalesce(id_text, id::text) ORDER BY seq) FROM leat.outbox`))
}
