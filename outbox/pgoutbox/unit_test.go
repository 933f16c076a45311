package pgoutbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// step is one thing that a function of InTx does.
type step struct {
	name string
	do   func(ctx context.Context, ob *pgoutbox.Outbox, tx pgx.Tx, n int) error
}

func execs(name, sql string) step {
	return step{name, func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, n int) error {
		_, err := tx.Exec(ctx, sql, []any{n}[:strings.Count(sql, "$")]...)
		return err
	}}
}

// enqueues puts a message of the key k into tx.
func enqueues(ctx context.Context, ob *pgoutbox.Outbox, tx pgx.Tx, n int) error {
	return ob.Enqueue(ctx, tx, keyed(fmt.Sprintf("k%d", n%3), fmt.Sprint("message-", n))...)
}

// nested returns a step that does inner in a pgx savepoint, and ends it with end.
func nested(name string, end func(pgx.Tx, context.Context) error, inner ...step) step {
	return step{name, func(ctx context.Context, ob *pgoutbox.Outbox, tx pgx.Tx, n int) error {
		sp, err := tx.Begin(ctx)
		if err != nil {
			return err
		}
		for i, s := range inner {
			if err := s.do(ctx, ob, sp, n*10+i); err != nil {
				return errors.Join(err, sp.Rollback(ctx))
			}
		}
		return end(sp, ctx)
	}}
}

func steps() []step { return slices.Concat(statements(), queries(), wholes()) }

// statements returns steps that run a statement, and one that enqueues.
func statements() []step {
	put := step{"enqueue", enqueues}
	insert := execs("insert", "INSERT INTO unit_rows VALUES ($1)")
	return []step{
		put, insert,
		execs("insert without arguments", "INSERT INTO unit_rows VALUES (-1)"),
		execs("two statements", "SELECT 1; INSERT INTO unit_rows SELECT count(*) FROM unit_rows WHERE n < 0"),
		execs("unique violation", "INSERT INTO unit_once VALUES (1)"),
		execs("no such table", "INSERT INTO unit_nowhere VALUES ($1)"),
		execs("no syntax", "INSERTED"),
		execs("savepoint", "SAVEPOINT s"),
		execs("rollback to", "ROLLBACK TO s"),
		execs("release", "RELEASE s"),
		execs("its own commit", "COMMIT"),
		execs("its own rollback", "ROLLBACK"),
		{"cannot be encoded", func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, _ int) error {
			_, err := tx.Exec(ctx, "INSERT INTO unit_rows VALUES ($1)", "seven")
			return err
		}},
	}
}

// queries returns steps that return rows.
func queries() []step {
	return []step{
		{"reads all", func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, n int) error {
			rows, err := tx.Query(ctx, "INSERT INTO unit_rows SELECT $1 + i FROM generate_series(1000, 1002) AS i RETURNING n", n)
			if err != nil {
				return err
			}
			_, err = pgx.CollectRows(rows, pgx.RowTo[int])
			return err
		}},
		{"reads one of three", func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, n int) error {
			rows, err := tx.Query(ctx, "INSERT INTO unit_rows SELECT $1 + i FROM generate_series(2000, 2002) AS i RETURNING n", n)
			if err != nil {
				return err
			}
			rows.Next()
			rows.Close()
			return rows.Err()
		}},
		{"leaves rows open", func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, _ int) error {
			_, err := tx.Query(ctx, "SELECT generate_series(1, 3)") //nolint:sqlclosecheck // that is the mistake
			if class(err) == "conn busy" {
				return nil // pgx tells only if it has to prepare the statement
			}
			return err
		}},
		{"scans what does not fit", func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, n int) error {
			var b bool
			return tx.QueryRow(ctx, "INSERT INTO unit_rows VALUES ($1) RETURNING n", n).Scan(&b)
		}},
		{"a row that fails late", func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, n int) error {
			rows, err := tx.Query(ctx, "SELECT 1 / (3 - i) + $1 FROM generate_series(1, 3) AS i", n)
			if err != nil {
				return err
			}
			_, err = pgx.CollectRows(rows, pgx.RowTo[int])
			return err
		}},
		{"no row", func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, n int) error {
			var got int
			return tx.QueryRow(ctx, "SELECT n FROM unit_rows WHERE n = -5 - $1", n).Scan(&got)
		}},
		{"counts its messages", func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, _ int) error {
			_, err := tx.Exec(ctx, "INSERT INTO unit_rows SELECT count(*) FROM leat.outbox")
			return err
		}},
		{"in a mode of its own", func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, n int) error {
			_, err := tx.Exec(ctx, "INSERT INTO unit_rows VALUES ($1)", pgx.QueryExecModeExec, n)
			return err
		}},
		{"with names", func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, n int) error {
			_, err := tx.Exec(ctx, "INSERT INTO unit_rows VALUES (@n)", pgx.NamedArgs{"n": n})
			return err
		}},
	}
}

// wholes returns steps that cannot be deferred, and steps that end the transaction.
func wholes() []step {
	put, insert := step{"enqueue", enqueues}, execs("insert", "INSERT INTO unit_rows VALUES ($1)")
	return []step{
		{"batch", func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, n int) error {
			var b pgx.Batch
			b.Queue("INSERT INTO unit_rows VALUES ($1)", n)
			b.Queue("INSERT INTO unit_rows VALUES ($1)", n+1)
			return tx.SendBatch(ctx, &b).Close()
		}},
		{"copy", func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, n int) error {
			_, err := tx.CopyFrom(ctx, pgx.Identifier{"unit_rows"}, []string{"n"}, pgx.CopyFromRows([][]any{{n}, {n}}))
			return err
		}},
		{"on the connection", func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, n int) error {
			_, err := tx.Conn().Exec(ctx, "INSERT INTO unit_rows VALUES ($1)", n)
			return err
		}},
		{"large object", func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, _ int) error {
			los := tx.LargeObjects()
			_, err := los.Create(ctx, 0)
			return err
		}},
		nested("savepoint of pgx", pgx.Tx.Commit, put, insert),
		nested("savepoint of pgx, undone", pgx.Tx.Rollback, insert, put),
		{"rolls back", func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, _ int) error { return tx.Rollback(ctx) }},
		{"commits", func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, _ int) error { return tx.Commit(ctx) }},
		{"another table", func(ctx context.Context, _ *pgoutbox.Outbox, tx pgx.Tx, n int) error {
			other, err := pgoutbox.New(unitPool(ctx), pgoutbox.Config{Table: "other"})
			if err != nil {
				return err
			}
			return enqueues(ctx, other, tx, n)
		}},
		{"message that is refused", func(ctx context.Context, ob *pgoutbox.Outbox, tx pgx.Tx, _ int) error {
			return ob.Enqueue(ctx, tx, outbox.Message{})
		}},
		{"delayed message", func(ctx context.Context, ob *pgoutbox.Outbox, tx pgx.Tx, n int) error {
			return ob.Enqueue(ctx, tx, outbox.Message{Topic: "t", Key: strconv.Itoa(n), NotBefore: time.Now().Add(time.Hour)})
		}},
	}
}

type unitPoolKey struct{}

func unitPool(ctx context.Context) *pgxpool.Pool {
	pool, _ := ctx.Value(unitPoolKey{}).(*pgxpool.Pool)
	return pool
}

// outcome holds what a transaction has left in the tables, and how it ended.
type outcome struct {
	Rows, Messages, Delayed, Other, Texts string
	Err                                   string
}

// run runs the steps in one transaction. Errors of the steps marked in swallow are ignored.
func (o *outcome) run(ctx context.Context, ob *pgoutbox.Outbox, all []step, swallow []bool, at int) {
	var texts []string
	err := ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		for i, s := range all {
			err := s.do(ctx, ob, tx, at+i)
			texts = append(texts, s.name+": "+class(err))
			if err != nil && !swallow[i] {
				return err
			}
		}
		return nil
	})
	o.Texts, o.Err = strings.Join(texts, "\n"), class(err)
}

// class returns the part of an error that must be equal in both ways.
func class(err error) string {
	for _, known := range []error{
		outbox.ErrInvalidMessage, outbox.ErrNotInTransaction, outbox.ErrCommitUnknown,
		pgx.ErrTxCommitRollback, pgx.ErrTxClosed, pgx.ErrNoRows,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return state.SQLState()
	}
	switch {
	case err == nil:
		return "ok"
	case strings.Contains(err.Error(), "conn busy"): // pgx adds what it wanted to do
		return "conn busy"
	default:
		return err.Error()
	}
}

func (o *outcome) look(ctx context.Context, t require.TestingT, db *testenv.Database) {
	for sql, to := range map[string]*string{
		"SELECT coalesce(string_agg(n::text, ' ' ORDER BY n), '') FROM unit_rows":                           &o.Rows,
		"SELECT coalesce(string_agg(convert_from(payload, 'UTF8'), ' ' ORDER BY seq), '') FROM leat.outbox": &o.Messages,
		"SELECT count(*)::text FROM leat.outbox_delayed":                                                    &o.Delayed,
		"SELECT coalesce(string_agg(convert_from(payload, 'UTF8'), ' ' ORDER BY seq), '') FROM leat.other":  &o.Other,
	} {
		require.NoError(t, db.Pool.QueryRow(ctx, sql).Scan(to))
	}
	_, err := db.Pool.Exec(ctx, "DELETE FROM unit_rows; DELETE FROM leat.outbox; DELETE FROM leat.outbox_delayed; DELETE FROM leat.other")
	require.NoError(t, err)
}

// TestO1_InTxSparesTripsOnly: whatever a function of InTx does, it sees the same errors, and leaves the
// same rows and messages, as in a transaction without saved round trips.
func TestO1_InTxSparesTripsOnly(t *testing.T) {
	t.Parallel()
	_, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, "CREATE TABLE unit_rows (n int); CREATE TABLE unit_once (n int PRIMARY KEY); INSERT INTO unit_once VALUES (1)")
	other, err := pgoutbox.New(db.Pool, pgoutbox.Config{Table: "other"})
	require.NoError(t, err)
	require.NoError(t, other.Migrate(t.Context()))
	boxes := map[bool]*pgoutbox.Outbox{}
	for _, atOnce := range []bool{false, true} {
		boxes[atOnce], err = pgoutbox.New(db.Pool, pgoutbox.Config{InsertAtOnce: atOnce})
		require.NoError(t, err)
	}
	ctx := context.WithValue(t.Context(), unitPoolKey{}, db.Pool)
	possible := steps()
	names := make([]string, len(possible))
	for i := range possible {
		names[i] = possible[i].name
	}
	compare := func(t require.TestingT, all []step, swallow []bool) {
		var got, want outcome
		for atOnce, o := range map[bool]*outcome{true: &want, false: &got} {
			ob := boxes[atOnce] // each connection is known before: the last steps may have closed one
			require.NoError(t, ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return enqueues(ctx, ob, tx, 1) }))
			(&outcome{}).look(ctx, t, db)
			o.run(ctx, ob, all, swallow, 10)
			o.look(ctx, t, db)
		}
		require.Equal(t, want, got)
	}
	for i := range possible { // each first, behind a message, behind a statement, and between both
		for _, all := range [][]step{
			{possible[i]},
			{possible[0], possible[i]},
			{possible[1], possible[i], possible[0]},
			{possible[1], possible[0], possible[i], possible[0]},
		} {
			compare(t, all, make([]bool, len(all)))
			compare(t, all, []bool{true, true, true, true})
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(rt, "steps")
		all, swallow := make([]step, n), make([]bool, n)
		for i := range all {
			all[i] = possible[rapid.IntRange(0, len(possible)-1).Draw(rt, "step")]
			swallow[i] = rapid.Bool().Draw(rt, "swallow "+all[i].name)
		}
		compare(rt, all, swallow)
	})
}

// TestO1_InTxCancelledWhileItWaits: a COMMIT waits for a key, and its caller gives up. The transaction has
// not committed, and does not commit later.
func TestO1_InTxCancelledWhileItWaits(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, "CREATE TABLE orders (id text PRIMARY KEY)")
	place := func(ctx context.Context, id string) error {
		return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO orders VALUES ($1)", id)
			return errors.Join(err, ob.Enqueue(ctx, tx, keyed("k", id)...))
		})
	}
	require.NoError(t, place(t.Context(), "first"))
	holder := begin(t, ob, db).put("k", "holder")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- place(ctx, "second") }()
	await(t, "the second waits for the key", func() bool {
		return query1[int](t, db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") == 1
	})
	cancel()
	err := <-done
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, outbox.ErrCommitUnknown)
	holder.commit()
	require.NoError(t, place(t.Context(), "third"))
	require.Equal(t, "first third", query1[string](t, db, "SELECT string_agg(id, ' ' ORDER BY id) FROM orders"))
	require.Equal(t, 3, stored(t, db))
}

// TestO1_InTxRowsThatAreSuppressed: if a trigger suppresses the message's row, the transaction is not
// committed.
func TestO1_InTxRowsThatAreSuppressed(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, `CREATE TABLE orders (id text PRIMARY KEY);
		CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`)
	put(t, ob, "k", "before") // the connection is known
	exec(t, db, "CREATE TRIGGER nothing BEFORE INSERT ON leat.outbox FOR EACH ROW EXECUTE FUNCTION nothing()")
	for _, n := range []int{1, 2} {
		err := ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO orders VALUES ($1)", "order-1")
			return errors.Join(err, ob.Enqueue(ctx, tx, keyed("k", "a", "b")[:n]...))
		})
		require.ErrorContains(t, err, "suppresses rows")
	}
	require.Zero(t, query1[int](t, db, "SELECT count(*) FROM orders"))
}

// TestO4_InTxKeepsPayloads: reusing a buffer before the commit changes no message.
func TestO4_InTxKeepsPayloads(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	put(t, ob, "k", "before")
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		buffer, headers := []byte("first"), map[string]string{"n": "first"}
		for _, text := range []string{"first", "again"} {
			copy(buffer, text)
			headers["n"] = text
			if err := ob.Enqueue(ctx, tx, outbox.Message{Topic: "t", Key: "k", Payload: buffer, Headers: headers}); err != nil {
				return err
			}
		}
		copy(buffer, "gone!")
		headers["n"] = "gone!"
		return nil
	}))
	require.Equal(t, "first/first again/again", query1[string](t, db,
		"SELECT string_agg(convert_from(payload, 'UTF8') || '/' || (headers->>'n'), ' ' ORDER BY seq) FROM leat.outbox WHERE seq > 1"))
}

// TestO1_LostAnswerBehindAnInsert: if rows are inserted in the trip of COMMIT, as delayed messages are, a
// lost answer leaves the outcome as unknown as any other.
func TestO1_LostAnswerBehindAnInsert(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	place := func() error {
		return s.victim.ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO orders VALUES ('victim0')")
			return errors.Join(err, s.victim.ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", NotBefore: time.Now().Add(time.Hour)}))
		})
	}
	require.NoError(t, place())
	s.wire.Arm(faultnet.CutAfter)
	require.ErrorIs(t, place(), outbox.ErrCommitUnknown)
	require.Equal(t, 2, s.placed())
}

// TestO1_InBatchRowsThatAreSuppressed: if a trigger suppresses a message's row, the whole batch is not
// committed.
func TestO1_InBatchRowsThatAreSuppressed(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, `CREATE TABLE orders (id text);
		CREATE FUNCTION suppress() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN RETURN CASE WHEN NEW.key = 'k' THEN NULL ELSE NEW END; END $$;
		CREATE TRIGGER suppress BEFORE INSERT ON leat.outbox FOR EACH ROW EXECUTE FUNCTION suppress();
		CREATE TRIGGER suppress BEFORE INSERT ON leat.outbox_delayed FOR EACH ROW EXECUTE FUNCTION suppress()`)
	later := outbox.Message{Topic: "t", Key: "k", NotBefore: time.Now().Add(time.Hour)}
	for _, messages := range [][]outbox.Message{keyed("k", "x"), append(keyed("k", "x"), keyed("other", "y")...), {later}} {
		var b pgx.Batch
		b.Queue("INSERT INTO orders VALUES ('o-1')")
		require.ErrorContains(t, ob.InBatch(t.Context(), &b, messages...), `a trigger or a rule on "leat"."outbox" suppresses rows`)
	}
	var b pgx.Batch
	b.Queue("INSERT INTO orders SELECT 1 / 0")
	require.ErrorContains(t, ob.InBatch(t.Context(), &b, keyed("other", "x")...), "22012", "an error of the batch's own stays what it is")
	require.Zero(t, query1[int](t, db, "SELECT count(*) FROM orders"))
	require.Zero(t, stored(t, db))
}
