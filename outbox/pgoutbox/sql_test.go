package pgoutbox_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// onSQL returns an outbox of db that has no pgx pool.
func onSQL(t *testing.T, db *sql.DB) *pgoutbox.Outbox {
	t.Helper()
	ob, err := pgoutbox.NewSQL(db, pgoutbox.Config{})
	require.NoError(t, err)
	return ob
}

// putSQL commits messages in one transaction of database/sql.
func putSQL(t *testing.T, ob *pgoutbox.Outbox, key string, names ...string) {
	t.Helper()
	require.NoError(t, ob.InSQLTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return ob.EnqueueSQL(ctx, tx, keyed(key, names...)...)
	}))
}

// TestNewSQL: a service on database/sql migrates, enqueues, relays, notifies and maintains through its
// *sql.DB. It uses at most two connections, and returns all of them.
func TestNewSQL(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T, env *testenv.Database) *sql.DB{
		"its own connections": func(t *testing.T, env *testenv.Database) *sql.DB { t.Helper(); return env.SQL(t) },
		"those of a pgx pool": func(t *testing.T, env *testenv.Database) *sql.DB {
			t.Helper()
			db := stdlib.OpenDBFromPool(env.Pool)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			return db
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := testenv.Postgres(t)
			db := open(t, env)
			db.SetMaxOpenConns(2)
			ob := onSQL(t, db)
			require.NoError(t, ob.Migrate(t.Context()))
			runNotifier(t, ob)
			broker := outboxtest.NewBroker()
			other := onSQL(t, db) // so that only the notifier's NOTIFY wakes the relay
			r, err := relay.New(source(t, other, ""), broker.Sink(), relay.Config{PollMin: never, PollMax: never})
			require.NoError(t, err)
			run := runRelay(t, r)
			awaitListening(t, env)
			for i := range 3 {
				putSQL(t, ob, "k", strconv.Itoa(i))
				_, err := broker.AwaitDistinct(t.Context(), i+1)
				require.NoError(t, err)
			}
			put(t, ob, "k", "3") // pgx's transaction, on a connection of db
			_, err = broker.AwaitDistinct(t.Context(), 4)
			require.NoError(t, err)

			m, err := pgoutbox.NewMaintenance(ob, pgoutbox.MaintenanceConfig{})
			require.NoError(t, err)
			_, err = m.RunOnce(t.Context())
			require.NoError(t, err)
			_, err = ob.Admin().Groups(t.Context())
			require.NoError(t, err)
			batch := &pgx.Batch{}
			batch.Queue("SELECT 1")
			require.NoError(t, ob.InBatch(t.Context(), batch, keyed("k", "4")...))
			_, err = broker.AwaitDistinct(t.Context(), 5)
			require.NoError(t, err)
			require.NoError(t, run.stop())
			require.Equal(t, []string{"0", "1", "2", "3", "4"}, payloads(broker.Log()))
			require.Zero(t, db.Stats().InUse)
		})
	}
}

// TestO1_InSQLTx commits when fn returns nil, and only then.
func TestO1_InSQLTx(t *testing.T) {
	t.Parallel()
	pgxs, env := newOutbox(t, pgoutbox.Config{})
	ob := onSQL(t, env.SQL(t))
	exec(t, env, "CREATE TABLE orders (id text PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)")
	wakes := source(t, ob, "").Wakes(t.Context())
	enqueue := func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES ('order-1')")
		return errors.Join(err, ob.EnqueueContext(ctx, keyed("k", "x")...))
	}

	err := ob.InSQLTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(enqueue(ctx, tx), errBusiness)
	})
	require.ErrorIs(t, err, errBusiness)
	require.PanicsWithValue(t, "business panics", func() {
		_ = ob.InSQLTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			require.NoError(t, enqueue(ctx, tx))
			panic("business panics")
		})
	})
	err = ob.InSQLTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(enqueue(ctx, tx), tx.Rollback())
	})
	require.ErrorIs(t, err, sql.ErrTxDone, "fn must not end the transaction")
	cancelled, cancel := context.WithCancel(t.Context())
	err = ob.InSQLTx(cancelled, func(ctx context.Context, tx *sql.Tx) error {
		defer cancel()
		return enqueue(ctx, tx)
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, stored(t, env))
	require.Empty(t, wakes, "nothing was committed, so nobody is woken")

	require.NoError(t, ob.InSQLTx(t.Context(), enqueue))
	require.Len(t, wakes, 1)
	err = ob.InSQLTx(t.Context(), enqueue)
	require.ErrorContains(t, err, "23505", "the server says so at COMMIT")
	require.NotErrorIs(t, err, outbox.ErrCommitUnknown)
	require.Equal(t, 1, stored(t, env))

	err = pgxs.InSQLTx(t.Context(), enqueue)
	require.EqualError(t, err, "leat: InSQLTx needs an outbox of pgoutbox.NewSQL; with a pgx pool, use InTx")
}

// TestO1_InSQLTx_LostAnswer: if the connection breaks during COMMIT, the outcome is unknown.
func TestO1_InSQLTx_LostAnswer(t *testing.T) {
	t.Parallel()
	_, env := newOutbox(t, pgoutbox.Config{})
	ob := onSQL(t, env.SQL(t))
	exec(t, env, `CREATE TABLE last (n int); CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS
		$$BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END$$;
		CREATE CONSTRAINT TRIGGER die AFTER INSERT ON last DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION die()`)
	err := ob.InSQLTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO last VALUES (1)")
		return errors.Join(err, ob.EnqueueSQL(ctx, tx, keyed("k", "x")...))
	})
	require.ErrorIs(t, err, outbox.ErrCommitUnknown)
}

// TestNewSQL_Refuses: NewSQL refuses what it cannot work with, and names the alternative.
func TestNewSQL_Refuses(t *testing.T) {
	t.Parallel()
	_, err := pgoutbox.NewSQL(nil, pgoutbox.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	db := sql.OpenDB(otherConnector{})
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = pgoutbox.NewSQL(db, pgoutbox.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "db = pgoutbox_test.otherDriver: must use pgx's driver, *stdlib.Driver; "+
		"with another one, such as lib/pq, give New a pgx pool for the relay, and EnqueueSQL the transactions")
}

type otherConnector struct{}

func (otherConnector) Connect(context.Context) (driver.Conn, error) {
	return nil, errors.ErrUnsupported
}
func (otherConnector) Driver() driver.Driver { return otherDriver{} }

type otherDriver struct{}

func (otherDriver) Open(string) (driver.Conn, error) { return nil, errors.ErrUnsupported }

// TestNewSQL_OneConnection: Enqueue works in a transaction that holds the only connection of db.
func TestNewSQL_OneConnection(t *testing.T) {
	t.Parallel()
	_, env := newOutbox(t, pgoutbox.Config{})
	db := env.SQL(t)
	db.SetMaxOpenConns(1)
	ob := onSQL(t, db)
	require.NoError(t, ob.Migrate(t.Context()))
	putSQL(t, ob, "k", "x")
	require.Equal(t, 1, stored(t, env))
}
