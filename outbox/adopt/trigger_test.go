package adopt_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/adopt"
)

// adopted returns a database whose table passes its rows on.
func adopted(t *testing.T, cfg adopt.Config) (*testenv.Database, *adopt.Table) {
	t.Helper()
	db := testenv.Postgres(t, migrated())
	exec(t, db, standard)
	exec(t, db, "ALTER TABLE outbox ADD COLUMN at timestamp, ADD COLUMN tracingspancontext text")
	table := recognized(t, db, cfg)
	require.NoError(t, table.Adopt(t.Context()))
	require.NoError(t, table.Adopt(t.Context()), "a second time is as good")
	return db, table
}

const insert = `INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) VALUES (gen_random_uuid(), $1, $2, 'paid', '{"a": 1}')`

// rows returns what is in leat's outbox, in its order.
func rows(t *testing.T, db *testenv.Database) []string {
	t.Helper()
	found, err := db.Pool.Query(t.Context(),
		"SELECT concat_ws(' ', topic, key, type, convert_from(payload, 'UTF8'), headers - 'id', occurred_at AT TIME ZONE 'UTC') FROM leat.outbox ORDER BY seq")
	require.NoError(t, err)
	texts, err := pgx.CollectRows(found, pgx.RowTo[string])
	require.NoError(t, err)
	return texts
}

// TestO1_RowsArePassedOnAsTheRouterSendsThem: those that are deleted at once and those of
// savepoints and of constraints that are immediate, too; none that was rolled back.
func TestO1_RowsArePassedOnAsTheRouterSendsThem(t *testing.T) {
	t.Parallel()
	db, table := adopted(t, adopt.Config{
		Topic: `E'it''s.\\' || NEW.aggregatetype`, Time: "at", Headers: map[string]string{"id": "id", "trace": "tracingspancontext"},
	})
	tx := begin(t, db)
	must(t, tx, insert, "order", "1")
	must(t, tx, "DELETE FROM outbox")
	must(t, tx, "SAVEPOINT s")
	must(t, tx, insert, "order", "rolled back")
	must(t, tx, "ROLLBACK TO s")
	must(t, tx, `INSERT INTO outbox VALUES (gen_random_uuid(), 'order', '2', 'paid', '"é"', '2026-01-05 10:00', 'abc')`)
	must(t, tx, "UPDATE outbox SET payload = '2'")
	must(t, tx, "SET CONSTRAINTS ALL IMMEDIATE")
	must(t, tx, insert, "order", "")
	require.NoError(t, tx.Commit(t.Context()))
	tx = begin(t, db)
	must(t, tx, insert, "order", "4")
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, []string{
		`it's.\order 1 paid {"a": 1} {}`,
		`it's.\order 2 paid "é" {"trace": "abc"} 2026-01-05 10:00:00`,
		`it's.\order paid {"a": 1} {}`,
	}, rows(t, db))

	is, err := table.Adopted(t.Context())
	require.NoError(t, err)
	require.True(t, is)
	require.NoError(t, table.Release(t.Context()))
	exec(t, db, insert, "order", "5")
	require.Len(t, rows(t, db), 3)
	is, err = table.Adopted(t.Context())
	require.NoError(t, err)
	require.False(t, is)
}

// TestO6_ARowThatCannotBeSentFailsItsStatement, and not the COMMIT.
func TestO6_ARowThatCannotBeSentFailsItsStatement(t *testing.T) {
	t.Parallel()
	db, _ := adopted(t, adopt.Config{})
	exec(t, db, "ALTER TABLE outbox DROP CONSTRAINT outbox_pkey, ALTER COLUMN id DROP NOT NULL, ALTER COLUMN aggregatetype DROP NOT NULL")
	for column, reason := range map[string]string{
		"payload": "payload NULL must not be NULL (payload is made of payload)", "id": "id must not be NULL or empty (id is made of id)",
		"aggregatetype": "topic NULL must not be empty (topic is made of 'outbox.event.' || NEW.aggregatetype)",
	} {
		values := map[string]any{"id": uuid.NewString(), "aggregatetype": "order", "aggregateid": "1", "type": "", "payload": "{}"}
		values[column] = nil
		_, err := db.Pool.Exec(t.Context(), "INSERT INTO outbox VALUES ($1, $2, $3, $4, $5)",
			values["id"], values["aggregatetype"], values["aggregateid"], values["type"], values["payload"])
		require.ErrorContains(t, err, `leat: a row of "public"."outbox" cannot be sent: `+reason)
	}
	require.Empty(t, rows(t, db))
}

// TestO5_KeysAreLockedTogetherAtCommit: transactions whose rows have the same keys in
// opposite orders end, and none waits for one that has not reached its COMMIT.
func TestO5_KeysAreLockedTogetherAtCommit(t *testing.T) {
	t.Parallel()
	db, _ := adopted(t, adopt.Config{})
	open := begin(t, db)
	must(t, open, insert, "order", "1")
	var group errgroup.Group
	for w := range 4 {
		group.Go(func() error {
			for range 25 {
				err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
					for k := range 8 {
						if w%2 == 0 {
							k = 7 - k
						}
						if _, err := tx.Exec(t.Context(), insert, "order", strconv.Itoa(k)); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.NoError(t, open.Commit(t.Context()))
	require.Len(t, rows(t, db), 4*25*8+1)
}

// TestO5_ALateCommitKeepsItsKeyBehind: of two transactions that write one key, the one that
// inserts first and commits last has the higher number.
func TestO5_ALateCommitKeepsItsKeyBehind(t *testing.T) {
	t.Parallel()
	db, _ := adopted(t, adopt.Config{})
	late := begin(t, db)
	must(t, late, insert, "late", "1")
	early := begin(t, db)
	must(t, early, "SET LOCAL lock_timeout = '5s'") // it waits for nobody
	must(t, early, insert, "early", "1")
	require.NoError(t, early.Commit(t.Context()))
	require.NoError(t, late.Commit(t.Context()))
	found := rows(t, db)
	require.Len(t, found, 2)
	require.Contains(t, found[0], "outbox.event.early")
	require.Contains(t, found[1], "outbox.event.late")
}

// TestN5_AStatementWithManyKeysLocksTheOutbox, once, and not each of its keys.
func TestN5_AStatementWithManyKeysLocksTheOutbox(t *testing.T) {
	t.Parallel()
	db, _ := adopted(t, adopt.Config{})
	const many = 2500
	tx := begin(t, db)
	must(t, tx, `INSERT INTO outbox SELECT gen_random_uuid(), 'order', n::text, 'paid', '{}' FROM generate_series(1, $1) AS n`, many)
	must(t, tx, "SET CONSTRAINTS ALL IMMEDIATE")
	var locks int
	require.NoError(t, tx.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'").Scan(&locks))
	require.Equal(t, 1, locks)
	require.NoError(t, tx.Commit(t.Context()))
	require.Len(t, rows(t, db), many)
}

// TestAdopt_ProducersNeedNoRight on leat's tables, and none can call the functions.
func TestAdopt_ProducersNeedNoRight(t *testing.T) {
	t.Parallel()
	db, _ := adopted(t, adopt.Config{})
	role := "leat_test_" + uuid.NewString()
	name := pgx.Identifier{role}.Sanitize()
	exec(t, db, "CREATE ROLE "+name)
	t.Cleanup(func() {
		_, err := db.Pool.Exec(context.Background(), "DROP OWNED BY "+name+"; DROP ROLE "+name)
		require.NoError(t, err)
	})
	exec(t, db, "GRANT INSERT ON outbox TO "+name)
	tx := begin(t, db)
	must(t, tx, "SET LOCAL ROLE "+name)
	must(t, tx, insert, "order", "1")
	require.NoError(t, tx.Commit(t.Context()))
	require.Len(t, rows(t, db), 1)
}

// TestAdopt_WaitsForWriters no longer than LockTimeout, and changes nothing then.
func TestAdopt_WaitsForWriters(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, migrated())
	exec(t, db, standard)
	table := recognized(t, db, adopt.Config{LockTimeout: 50 * time.Millisecond})
	writer := begin(t, db)
	must(t, writer, insert, "order", "1")
	require.ErrorIs(t, table.Adopt(t.Context()), adopt.ErrTableBusy)
	require.NoError(t, writer.Commit(t.Context()))
	require.Empty(t, rows(t, db))
	require.NoError(t, table.Adopt(t.Context()))
}

// TestAdopt_RefusesWhatTheTableHasNot by the name of the field, its value and the table.
func TestAdopt_RefusesWhatTheTableHasNot(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, migrated())
	exec(t, db, standard)
	for says, cfg := range map[string]adopt.Config{
		`Table = "public"."outbx": does not exist`:                           {Table: "outbx", ID: "id", Topic: "'t'", Payload: "payload"},
		`Key = "aggregate_id": is not a column of "public"."outbox"`:         {Key: "aggregate_id"},
		`Time = "type": is of another type than a timestamp`:                 {Time: "type"},
		`HeadersJSON = "id": is of another type than json, jsonb or text`:    {HeadersJSON: "id"},
		`Headers["x"] = "y": is not a column of "public"."outbox"`:           {Headers: map[string]string{"x": "y"}},
		`Topic = "orders": is not a column of "public"."outbox": a fixed`:    {Topic: "orders"},
		`Topic = "lower(NEW.kind)": ERROR: column new.kind does not exist`:   {Topic: "lower(NEW.kind)"},
		`Topic = "lower('x'": ERROR: syntax error`:                           {Topic: "lower('x'"},
		`Payload = "envelope(NEW.payload)": ERROR: function envelope(jsonb)`: {Payload: "envelope(NEW.payload)"},
	} {
		table := recognizedOr(t, db, cfg)
		_, plan := table.Plan(t.Context())
		for _, err := range []error{plan, table.Adopt(t.Context())} {
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.ErrorContains(t, err, says)
		}
	}
	exec(t, db, insert, "order", "1")
}

func begin(t *testing.T, db *testenv.Database) pgx.Tx {
	t.Helper()
	tx, err := db.Pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

func must(t *testing.T, tx pgx.Tx, sql string, args ...any) {
	t.Helper()
	if _, err := tx.Exec(t.Context(), sql, args...); err != nil {
		answer, _ := errors.AsType[*pgconn.PgError](err)
		require.NoError(t, err, "%s %+v", sql, answer)
	}
}

// TestAdopt_OfAnOlderSchema is refused, where producers would fail otherwise.
func TestAdopt_OfAnOlderSchema(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, migrated())
	exec(t, db, standard)
	exec(t, db, "DROP FUNCTION leat.outbox_refuse CASCADE")
	table := recognized(t, db, adopt.Config{})
	require.ErrorIs(t, table.Adopt(t.Context()), outbox.ErrNotMigrated)
	exec(t, db, insert, "order", "1")
}
