package pgoutbox_test

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestMigrate_ManyAtOnce: processes that start at the same time migrate once.
func TestMigrate_ManyAtOnce(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { errs[i] = migrate(t.Context(), db.URL) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	st, err := ob.SchemaStatus(t.Context())
	require.NoError(t, err)
	require.Equal(t, st.Latest, st.Current)
	require.Equal(t, st.Latest, query1[int](t, db, "SELECT count(*) FROM leat.outbox_migrations"))
}

// TestMigrate_WhileInUse: a migration of an up-to-date outbox changes nothing and waits for no other
// session.
func TestMigrate_WhileInUse(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{MigrateLockTimeout: 10 * time.Millisecond})
	w := begin(t, ob, db).put("k", "open")
	defer w.rollback()
	acquire(t, ob, "")
	require.NoError(t, ob.Migrate(t.Context()))
}

// TestMigrate_DoesNotWaitForLong: a locked table is waited for at most MigrateLockTimeout.
func TestMigrate_DoesNotWaitForLong(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{MigrateLockTimeout: 20 * time.Millisecond})
	require.NoError(t, err)
	exec(t, db, "CREATE SCHEMA leat; CREATE TABLE leat.outbox_migrations (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())")
	w := begin(t, ob, db).exec("LOCK TABLE leat.outbox_migrations IN SHARE MODE") // which an INSERT waits for
	err = ob.Migrate(t.Context())
	var timeout *pgconn.PgError
	require.ErrorAs(t, err, &timeout)
	require.Equal(t, pgerr.LockNotAvailable, timeout.Code)
	w.rollback()
	require.NoError(t, ob.Migrate(t.Context()))
}

// TestMigrations_Exported: the exported files create the same schema, in a form that other tools run.
func TestMigrations_Exported(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	cfg := pgoutbox.Config{Schema: "app", Table: "events"}
	files, err := pgoutbox.Migrations(cfg)
	require.NoError(t, err)
	names, err := fs.Glob(files, "*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		raw, err := fs.ReadFile(files, name)
		require.NoError(t, err)
		_, err = db.Pool.Exec(t.Context(), string(raw))
		require.NoError(t, err, name)
	}
	ob, err := pgoutbox.New(db.Pool, cfg)
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(t.Context()))
	require.NoError(t, source(t, ob, "").Check(t.Context()))
	put(t, ob, "k", "x")
	require.Len(t, readAll(t, acquire(t, ob, ""), 10), 1)
}

// TestSchemaStatus reports a schema that is behind, and one that is ahead.
func TestSchemaStatus(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	st, err := ob.SchemaStatus(t.Context())
	require.NoError(t, err)
	require.Equal(t, st.Latest, st.Current)

	exec(t, db, "INSERT INTO leat.outbox_migrations (version, name) VALUES (1000, 'from the future')")
	ahead, err := ob.SchemaStatus(t.Context())
	require.NoError(t, err)
	require.Equal(t, admin.SchemaStatus{Current: 1000, Latest: st.Latest}, ahead)
	require.NoError(t, ob.Migrate(t.Context()))
	require.NoError(t, source(t, ob, "").Check(t.Context()), "a newer release has migrated already")

	exec(t, db, "DELETE FROM leat.outbox_migrations")
	require.ErrorIs(t, source(t, ob, "").Check(t.Context()), outbox.ErrNotMigrated)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = ob.SchemaStatus(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, ob.Migrate(ctx), context.Canceled)
}
