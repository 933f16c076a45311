package pginbox_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	outboxadmin "github.com/leat-go/leat/outbox/admin"
)

func TestNewRefusesBadConfigurations(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), "postgres://127.0.0.1/nowhere")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	tests := map[string]struct {
		consumer string
		cfg      pginbox.Config
		want     string
	}{
		"no consumer":   {"", pginbox.Config{}, `consumer = ""`},
		"long consumer": {strings.Repeat("x", 201), pginbox.Config{}, "longer than 200 bytes"},
		"schema":        {"c", pginbox.Config{Schema: "a\x00b"}, "do not print"},
		"table":         {"c", pginbox.Config{Table: strings.Repeat("x", 45)}, "longer than 63 bytes"},
		"isolation":     {"c", pginbox.Config{Isolation: "snapshot"}, `Isolation = "snapshot"`},
		"lock timeout":  {"c", pginbox.Config{MigrateLockTimeout: 1}, "MigrateLockTimeout = 1ns"},
		"engine":        {"c", pginbox.Config{Config: inbox.Config{BusyDelay: -2}}, "BusyDelay"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := pginbox.New(pool, tt.consumer, tt.cfg)
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.ErrorContains(t, err, tt.want)
		})
	}
	_, err = pginbox.New(pool, "c", pginbox.Config{Table: strings.Repeat("x", 44)})
	require.NoError(t, err)
	_, err = pginbox.New(nil, "c", pginbox.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	_, err = pginbox.NewSQL(nil, "c", pginbox.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}

func TestNewSQLRefusesOtherDrivers(t *testing.T) {
	t.Parallel()
	db := sql.OpenDB(otherConnector{})
	t.Cleanup(func() { require.NoError(t, db.Close()) })

	_, err := pginbox.NewSQL(db, "c", pginbox.Config{})

	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "pginbox_test.otherDriver")
}

type otherConnector struct{}

func (otherConnector) Connect(context.Context) (driver.Conn, error) {
	return nil, errors.ErrUnsupported
}
func (otherConnector) Driver() driver.Driver { return otherDriver{} }

type otherDriver struct{}

func (otherDriver) Open(string) (driver.Conn, error) { return nil, errors.ErrUnsupported }

func TestMigrationsAgreeWithMigrate(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	cfg := pginbox.Config{Schema: "mine", Table: "seen"}
	in, err := pginbox.New(env.Pool, "c", cfg)
	require.NoError(t, err)
	status, err := in.SchemaStatus(t.Context())
	require.NoError(t, err)
	latest := status.Latest
	require.Zero(t, status.Current)

	files, err := pginbox.Migrations(cfg)
	require.NoError(t, err)
	names, err := fs.Glob(files, "*.sql")
	require.NoError(t, err)
	require.Len(t, names, latest)
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		require.NoError(t, err)
		_, err = env.Pool.Exec(t.Context(), string(text))
		require.NoError(t, err)
	}

	status, err = in.SchemaStatus(t.Context())
	require.NoError(t, err)
	require.Equal(t, outboxadmin.SchemaStatus{Current: latest, Latest: latest}, status)
	require.NoError(t, in.Migrate(t.Context()))
	_, err = process(t, in, "a", nothing)
	require.NoError(t, err)
	_, err = pginbox.Migrations(pginbox.Config{Schema: "\n"})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}

// TestVersion1RunsOnTheNextSchema stands for a rolling deploy: the schema is
// expanded while this release still consumes.
func TestVersion1RunsOnTheNextSchema(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	in, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	_, err = process(t, in, "before", nothing)
	require.NoError(t, err)
	_, err = env.Pool.Exec(t.Context(), `ALTER TABLE leat.inbox ADD next text; ALTER TABLE leat.inbox_consumers ADD next text DEFAULT 'x';
		INSERT INTO leat.inbox_migrations (version, name) SELECT max(version) + 1, 'next.sql' FROM leat.inbox_migrations`)
	require.NoError(t, err)

	for id, want := range map[string]inbox.Outcome{"before": inbox.OutcomeDuplicate, "after": inbox.OutcomeCommitted} {
		outcome, err := process(t, in, id, nothing)
		require.NoError(t, err)
		require.Equal(t, want, outcome)
	}
	require.NoError(t, in.Migrate(t.Context()))
	other, err := pginbox.New(env.Pool, "new", pginbox.Config{})
	require.NoError(t, err)
	_, err = process(t, other, "before", nothing)
	require.NoError(t, err)
}
