package pgoutbox_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO2_SettingsOfTheDatabase: session settings of a role or a database change nothing, even where
// results travel as text.
//
//leat:level 2
func TestO2_SettingsOfTheDatabase(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t, migrated())
			db.Set(t, testenv.Unusual()...)
			cfg, err := pgxpool.ParseConfig(db.URL)
			require.NoError(t, err)
			cfg.ConnConfig.DefaultQueryExecMode = mode
			pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			ob, err := pgoutbox.New(pool, pgoutbox.Config{})
			require.NoError(t, err)
			src := source(t, ob, "default")
			require.NoError(t, src.Check(t.Context()))
			now, err := src.Now(t.Context())
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), now, time.Hour)

			setAsideAndBack(t, holdingOf(t, ob, db, "default"))

			want := delayedBy("k", time.Now().Add(time.Hour), "late")
			require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error { return ob.Enqueue(ctx, tx, want...) }))
			listed, err := ob.Admin().Delayed(t.Context(), admin.DelayedQuery{})
			require.NoError(t, err)
			require.WithinDuration(t, want[0].NotBefore, listed[0].NotBefore, time.Millisecond)
			makeDue(t, db)
			require.EqualValues(t, 1, once(t, maintenance(t, ob, pgoutbox.MaintenanceConfig{})).Promoted)
			found, err := ob.Admin().Search(t.Context(), admin.MessageQuery{})
			require.NoError(t, err)
			require.Len(t, found.Records, 6)
			require.Equal(t, "late", string(found.Records[5].Payload))
			entries, err := ob.Admin().Audit(t.Context(), admin.AuditQuery{Since: now.Add(-time.Hour)})
			require.NoError(t, err)
			require.NotEmpty(t, entries)
		})
	}
}

// TestO9_IdleSessionsAreKept: a timeout of the database for idle sessions does not end those of a relay,
// whose lease would be lost without a fault. The timeout is longer than the time for which pgx's pool
// keeps an idle connection without checking it.
func TestO9_IdleSessionsAreKept(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	db.Set(t, "idle_session_timeout = '1500ms'")
	s := acquire(t, ob, "default")
	control := db.Connect(t)
	_, err := control.WaitForNotification(t.Context())
	require.ErrorContains(t, err, "idle-session timeout")

	require.NoError(t, s.Renew(t.Context(), testLease))
	_, err = s.Read(t.Context(), 1)
	require.NoError(t, err)
}

// TestO2_OtherEncodingsAreRefused: in a database whose encoding is not UTF-8 nothing is migrated, enqueued
// or relayed, and the error says what to do.
func TestO2_OtherEncodingsAreRefused(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	for _, encoding := range []string{"LATIN1", "SQL_ASCII", "EUC_JP"} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			name := db.Name + "_" + strings.ToLower(encoding)
			_, err := db.Pool.Exec(t.Context(), "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+
				" TEMPLATE template0 ENCODING '"+encoding+"' LC_COLLATE 'C' LC_CTYPE 'C'")
			require.NoError(t, err)
			t.Cleanup(func() {
				_, err := db.Pool.Exec(context.Background(), "DROP DATABASE "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)")
				require.NoError(t, err)
			})
			cfg := db.Pool.Config()
			cfg.ConnConfig.Database = name
			cfg.ConnConfig.RuntimeParams["client_encoding"] = "UTF8"
			pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			ob, err := pgoutbox.New(pool, pgoutbox.Config{})
			require.NoError(t, err)
			requireEncoding(t, ob.Migrate(t.Context()), "the encoding of the database is "+encoding)
			requireEncoding(t, ob.InTx(t.Context(), enqueueOne(ob)), "the encoding of the database is "+encoding)
			err = source(t, ob, "default").Check(t.Context())
			requireEncoding(t, err, "the encoding of the database is "+encoding)
			require.ErrorIs(t, err, driver.ErrSourceUnusable)
		})
	}
}

// TestO2_OtherClientEncodingsAreRefused does the same for a role that asks for another client encoding in
// a UTF-8 database.
func TestO2_OtherClientEncodingsAreRefused(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	db.Set(t, "client_encoding = 'LATIN1'")
	requireEncoding(t, ob.InTx(t.Context(), enqueueOne(ob)), "LATIN1")
	err := source(t, ob, "default").Check(t.Context())
	requireEncoding(t, err, "client_encoding is LATIN1")
	require.ErrorIs(t, err, driver.ErrSourceUnusable)
}

func enqueueOne(ob *pgoutbox.Outbox) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "t", Key: "日本"})
	}
}

func requireEncoding(t *testing.T, err error, named string) {
	t.Helper()
	require.ErrorIs(t, err, pgmigrate.ErrEncoding)
	require.ErrorContains(t, err, named)
}

// TestO4_ArraysWithoutNullsAreRefused: where arrays travel as text and array_nulls is off, a message
// without a key would get the key "NULL".
func TestO4_ArraysWithoutNullsAreRefused(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, migrated())
	db.Set(t, "array_nulls = off")
	for mode, refused := range map[pgx.QueryExecMode]bool{
		pgx.QueryExecModeCacheStatement: false, pgx.QueryExecModeExec: true, pgx.QueryExecModeSimpleProtocol: true,
	} {
		cfg := db.Pool.Config()
		cfg.ConnConfig.DefaultQueryExecMode = mode
		pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		ob, err := pgoutbox.New(pool, pgoutbox.Config{})
		require.NoError(t, err)
		err = ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			return ob.Enqueue(ctx, tx, outbox.Message{Topic: "t"}, outbox.Message{Topic: "t", Key: "k"})
		})
		if refused {
			require.ErrorContains(t, err, "array_nulls", mode)
			continue
		}
		require.NoError(t, err, mode)
	}
	require.Zero(t, query1[int](t, db, "SELECT count(*) FROM leat.outbox WHERE key = 'NULL'"))
}
