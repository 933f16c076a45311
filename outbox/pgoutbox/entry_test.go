package pgoutbox_test

import (
	"context"
	"database/sql"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/lib/pq" // another driver of producers
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// entry is one way into the outbox, with a transaction of its own that is still open.
type entry struct {
	enqueue func(ctx context.Context, msgs ...outbox.Message) error
	usable  func() error
	end     func(commit bool) error
}

// entries returns all ways into the outbox, by name.
func entries() map[string]func(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database) entry {
	return map[string]func(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database) entry{
		"Enqueue": func(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database) entry {
			t.Helper()
			return pgxEntry(t, db, func(ctx context.Context, tx pgx.Tx, msgs ...outbox.Message) error {
				return ob.Enqueue(ctx, tx, msgs...)
			})
		},
		"EnqueueContext": func(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database) entry {
			t.Helper()
			return pgxEntry(t, db, func(ctx context.Context, tx pgx.Tx, msgs ...outbox.Message) error {
				return ob.EnqueueContext(pgoutbox.ContextWithTx(ctx, tx), msgs...)
			})
		},
		"QueueEnqueue": func(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database) entry {
			t.Helper()
			return pgxEntry(t, db, func(ctx context.Context, tx pgx.Tx, msgs ...outbox.Message) error {
				var b pgx.Batch
				if err := ob.QueueEnqueue(ctx, &b, msgs...); err != nil {
					return err
				}
				return tx.SendBatch(ctx, &b).Close()
			})
		},
		"EnqueueSQL": func(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database) entry {
			t.Helper()
			return sqlEntry(t, db, func(ctx context.Context, tx *sql.Tx, msgs ...outbox.Message) error {
				return ob.EnqueueSQL(ctx, tx, msgs...)
			})
		},
		"EnqueueSQL_libpq": func(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database) entry { // A6
			t.Helper()
			return sqlEntryOf(t, libpq(t, db), func(ctx context.Context, tx *sql.Tx, msgs ...outbox.Message) error {
				return ob.EnqueueSQL(ctx, tx, msgs...)
			})
		},
		"EnqueueContext_SQL": func(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database) entry {
			t.Helper()
			return sqlEntry(t, db, func(ctx context.Context, tx *sql.Tx, msgs ...outbox.Message) error {
				return ob.EnqueueContext(pgoutbox.ContextWithSQLTx(ctx, tx), msgs...)
			})
		},
	}
}

func pgxEntry(t *testing.T, db *testenv.Database, enqueue func(context.Context, pgx.Tx, ...outbox.Message) error) entry {
	t.Helper()
	ctx := t.Context()
	tx, err := db.Connect(t).Begin(ctx)
	require.NoError(t, err)
	return entry{
		enqueue: func(ctx context.Context, msgs ...outbox.Message) error { return enqueue(ctx, tx, msgs...) },
		usable: func() error {
			_, err := tx.Exec(ctx, "SELECT 1")
			return err
		},
		end: func(commit bool) error {
			if commit {
				return tx.Commit(ctx)
			}
			return tx.Rollback(ctx)
		},
	}
}

func sqlEntry(t *testing.T, db *testenv.Database, enqueue func(context.Context, *sql.Tx, ...outbox.Message) error) entry {
	t.Helper()
	return sqlEntryOf(t, db.SQL(t), enqueue)
}

// libpq returns a pool of the other driver, after checking that it works.
func libpq(t *testing.T, db *testenv.Database) *sql.DB {
	t.Helper()
	address, err := url.Parse(db.URL)
	require.NoError(t, err)
	settings := address.Query()
	settings.Del("default_query_exec_mode") // pgx's own, which a pooler does not know
	address.RawQuery = settings.Encode()
	pool, err := sql.Open("postgres", address.String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

func sqlEntryOf(t *testing.T, pool *sql.DB, enqueue func(context.Context, *sql.Tx, ...outbox.Message) error) entry {
	t.Helper()
	tx, err := pool.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	return entry{
		enqueue: func(ctx context.Context, msgs ...outbox.Message) error { return enqueue(ctx, tx, msgs...) },
		usable: func() error {
			_, err := tx.ExecContext(t.Context(), "SELECT 1")
			return err
		},
		end: func(commit bool) error {
			if commit {
				return tx.Commit()
			}
			return tx.Rollback()
		},
	}
}

// TestO1_RowExistsIffCommitted tries every way into the outbox.
func TestO1_RowExistsIffCommitted(t *testing.T) {
	t.Parallel()
	all := entries()
	all["the function in SQL"] = func(t *testing.T, _ *pgoutbox.Outbox, db *testenv.Database) entry {
		t.Helper()
		return pgxEntry(t, db, enqueueFunction)
	}
	for name, open := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := newOutbox(t, pgoutbox.Config{})
			s := acquire(t, ob, "")
			for _, commit := range []bool{true, false, true} {
				e := open(t, ob, db)
				require.NoError(t, e.enqueue(t.Context(), keyed("k", "1", "2")...))
				require.Empty(t, readAll(t, s, 10), "not committed yet")
				require.NoError(t, e.end(commit))
				if commit {
					require.Equal(t, []string{"1", "2"}, payloads(readAll(t, s, 10)))
				} else {
					require.Empty(t, readAll(t, s, 10))
				}
			}
			require.Equal(t, 4, stored(t, db))
		})
	}
}

// TestO1_NoMessageIsNoOp: a call without messages sends nothing to the server and draws no xid.
func TestO1_NoMessageIsNoOp(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	for name, open := range entries() {
		e := open(t, ob, db)
		require.NoError(t, e.enqueue(t.Context()), name)
		require.NoError(t, e.end(true), name)
	}
	tx := begin(t, ob, db)
	require.NoError(t, ob.Enqueue(t.Context(), tx.Tx))
	var xid *string
	require.NoError(t, tx.QueryRow(t.Context(), "SELECT pg_current_xact_id_if_assigned()::text").Scan(&xid))
	require.Nil(t, xid)
	tx.rollback()
	require.Zero(t, stored(t, db))
}

// TestO1_AbortedTransaction: after another statement has failed, Enqueue returns the database's error, and
// the commit commits nothing.
func TestO1_AbortedTransaction(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	tx := begin(t, ob, db).put("k", "1")
	_, err := tx.Exec(t.Context(), "SELECT 1/0")
	require.Error(t, err)
	require.ErrorContains(t, ob.Enqueue(t.Context(), tx.Tx, keyed("", "2")...), "25P02")
	require.ErrorIs(t, tx.Commit(t.Context()), pgx.ErrTxCommitRollback)
	require.Zero(t, stored(t, db))
}
