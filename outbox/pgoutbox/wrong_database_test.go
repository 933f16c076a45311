package pgoutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// strangers returns databases other than ob's: one without an outbox, one with another outbox of the same
// name, and one that was cloned from the same template as ob's, including its instance id.
func strangers(t *testing.T) map[string]*testenv.Database {
	t.Helper()
	empty, other := testenv.Postgres(t), testenv.Postgres(t)
	require.NoError(t, migrate(t.Context(), other.URL))
	return map[string]*testenv.Database{"empty": empty, "other": other, "clone": testenv.Postgres(t, migrated())}
}

// TestO1_WrongDatabaseIsRefused: every way in refuses a wrong database and writes nothing there.
func TestO1_WrongDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	for name, open := range entries() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := newOutbox(t, pgoutbox.Config{})
			for where, stranger := range strangers(t) {
				for range 2 { // what a connection has shown is remembered: not this
					e := open(t, ob, stranger)
					err := e.enqueue(t.Context(), keyed("k", "x")...)
					if where != "empty" {
						require.ErrorIs(t, err, outbox.ErrWrongDatabase)
						require.ErrorIs(t, e.enqueue(t.Context(), keyed("k", "x")...), outbox.ErrWrongDatabase, "on the same connection")
						require.NoError(t, e.end(true))
					} else {
						require.Error(t, err)
						require.NoError(t, e.end(false))
					}
				}
				if where != "empty" {
					require.Zero(t, stored(t, stranger))
				}
			}
			e := open(t, ob, db)
			require.NoError(t, e.enqueue(t.Context(), keyed("k", "x")...))
			require.NoError(t, e.end(true))
			require.Equal(t, 1, stored(t, db))
		})
	}
}

// TestO1_AConnectionIsComparedOnce: once a transaction of database/sql has found out which database it is
// in, later ones on its connection need not ask again. A connection of a pgx pool is recognized by its
// address.
func TestO1_AConnectionIsComparedOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"New", "NewSQL"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, env := newOutbox(t, pgoutbox.Config{})
			if name == "NewSQL" {
				ob = onSQL(t, env.SQL(t))
			}
			enqueue := func(db *sql.DB) error {
				db.SetMaxOpenConns(1)
				tx, err := db.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				err = ob.EnqueueSQL(t.Context(), tx, keyed("k", "x")...)
				if err != nil {
					return errors.Join(err, tx.Rollback())
				}
				return tx.Commit()
			}
			known, other := env.SQL(t), env.SQL(t)
			require.NoError(t, enqueue(known))
			exec(t, env, "ALTER TABLE leat.outbox_meta RENAME TO hidden")
			require.NoError(t, enqueue(known))
			if err := enqueue(other); name == "New" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "outbox_meta")
			}
		})
	}
}

// TestO1_OtherAddressOfTheSameDatabase: another address of the same database is accepted: what counts is
// the outbox, not how the connection reached it.
func TestO1_OtherAddressOfTheSameDatabase(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	config, err := pgx.ParseConfig(db.URL)
	require.NoError(t, err)
	address := net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	config.Host, config.Fallbacks = "elsewhere.invalid", nil
	config.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"192.0.2.1"}, nil }
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	for range 2 {
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		require.NoError(t, ob.Enqueue(t.Context(), tx, keyed("k", "x")...))
		require.NoError(t, tx.Commit(t.Context()))
	}
	require.Equal(t, 2, stored(t, db))
}

// TestO1_NotMigratedIsSaid: the error names what is missing.
func TestO1_NotMigratedIsSaid(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	for name, open := range entries() {
		e := open(t, ob, db)
		require.ErrorIs(t, e.enqueue(t.Context(), keyed("k", "x")...), outbox.ErrNotMigrated, name)
		require.NoError(t, e.end(false))
	}
	st, err := ob.SchemaStatus(t.Context())
	require.NoError(t, err)
	require.Equal(t, admin.SchemaStatus{Current: 0, Latest: 1}, st)
}

// TestO1_SuppressedRows: the error names a trigger that suppresses rows, and is not that of a wrong
// database.
func TestO1_SuppressedRows(t *testing.T) {
	t.Parallel()
	for name, open := range entries() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := newOutbox(t, pgoutbox.Config{})
			exec(t, db, `CREATE FUNCTION suppress() RETURNS trigger LANGUAGE plpgsql AS $$
				BEGIN RETURN CASE WHEN NEW.key = 'k' THEN NULL ELSE NEW END; END $$;
				CREATE TRIGGER suppress BEFORE INSERT ON leat.outbox FOR EACH ROW EXECUTE FUNCTION suppress()`)
			for _, messages := range [][]outbox.Message{keyed("k", "x"), append(keyed("k", "x"), keyed("other", "y")...)} {
				e := open(t, ob, db)
				err := e.enqueue(t.Context(), messages...)
				if err == nil { // where it comes with the batch
					err = e.end(true)
				} else {
					require.NoError(t, e.end(false))
				}
				require.ErrorContains(t, err, `a trigger or a rule on "leat"."outbox" suppresses rows`)
				require.Zero(t, stored(t, db))
			}
		})
	}
}
