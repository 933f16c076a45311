package pgmigrate_test

import (
	"errors"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/testenv"
)

const (
	first = `CREATE TABLE @{} (id bigint CONSTRAINT @{name:_pk} PRIMARY KEY);
CREATE VIEW @{_view} AS SELECT id FROM @{};`
	second = `ALTER TABLE @{} ADD COLUMN note text;`
)

func set(files ...string) pgmigrate.Set {
	s := pgmigrate.Set{
		Component: "thing",
		Names:     pgmigrate.Names{Schema: `we"ird`, Table: "Thing's"},
		FS:        fstest.MapFS{},
	}
	names := []string{"00001_init.sql", "00002_note.sql", "00003_more.sql"}
	for i, text := range files {
		s.FS.(fstest.MapFS)[names[i]] = &fstest.MapFile{Data: []byte(text)}
	}
	return s
}

// sideBySide runs fn n times at once and joins the errors.
func sideBySide(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { errs[i] = fn(i) })
	}
	group.Wait()
	return errors.Join(errs...)
}

func TestMigrateAppliesWhatIsMissingOnce(t *testing.T) {
	t.Parallel()
	db := pgmigrate.FromPool(testenv.Postgres(t).Pool)
	ctx := t.Context()

	status, err := set(first, second).Status(ctx, db)
	require.NoError(t, err)
	require.Equal(t, pgmigrate.Status{Latest: 2, Pending: []string{"00001_init.sql", "00002_note.sql"}}, status)

	require.NoError(t, set(first).Migrate(ctx, db, pgmigrate.Options{}))
	require.ErrorIs(t, set(first, second).Require(ctx, db, 2), pgmigrate.ErrBehind)
	require.NoError(t, set(first, second).Migrate(ctx, db, pgmigrate.Options{}))
	require.NoError(t, set(first, second).Migrate(ctx, db, pgmigrate.Options{}))
	require.NoError(t, set(first, second).Require(ctx, db, 2))

	// A library of version 1 runs on the schema of version 2 and leaves it alone.
	require.NoError(t, set(first).Migrate(ctx, db, pgmigrate.Options{}))
	status, err = set(first).Status(ctx, db)
	require.NoError(t, err)
	require.Equal(t, pgmigrate.Status{Current: 2, Latest: 1}, status)
}

func TestMigrateStopsAtTarget(t *testing.T) {
	t.Parallel()
	db := pgmigrate.FromPool(testenv.Postgres(t).Pool)

	require.NoError(t, set(first, second).Migrate(t.Context(), db, pgmigrate.Options{Target: 1}))
	status, err := set(first, second).Status(t.Context(), db)
	require.NoError(t, err)
	require.Equal(t, []string{"00002_note.sql"}, status.Pending)

	require.ErrorContains(t, set(first).Migrate(t.Context(), db, pgmigrate.Options{Target: 2}), "target 2 of 1")
	require.ErrorContains(t, set(first).Migrate(t.Context(), db, pgmigrate.Options{LockTimeout: -1}), "lock timeout -1ns")
}

func TestMigrateConcurrently(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	other := set(first)
	other.Table = "other" // the same schema, which both sets create

	require.NoError(t, sideBySide(12, func(i int) error {
		s := set(first, second)
		if i%2 == 1 {
			s = other
		}
		return s.Migrate(t.Context(), pgmigrate.FromPool(env.Pool), pgmigrate.Options{})
	}))

	var rows int
	err := env.Pool.QueryRow(t.Context(), `SELECT count(*) FROM `+set().Qualified("_migrations")).Scan(&rows)
	require.NoError(t, err)
	require.Equal(t, 2, rows)
}

func TestMigrateFailsWhole(t *testing.T) {
	t.Parallel()
	db := pgmigrate.FromPool(testenv.Postgres(t).Pool)
	broken := set(first, second+"\nSELECT 1/0;", "SELECT 1;")

	err := broken.Migrate(t.Context(), db, pgmigrate.Options{})

	require.ErrorContains(t, err, "thing: migration 00002_note.sql")
	status, err := broken.Status(t.Context(), db)
	require.NoError(t, err)
	require.Equal(t, 1, status.Current)
	require.NoError(t, set(first, second).Migrate(t.Context(), db, pgmigrate.Options{}), "the column must not be there yet")
}

func TestMigrateGivesUpOnATableInUse(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	db := pgmigrate.FromPool(env.Pool)
	require.NoError(t, set(first).Migrate(t.Context(), db, pgmigrate.Options{}))
	tx, err := env.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SELECT * FROM `+set().Qualified(""))
	require.NoError(t, err)

	err = set(first, second).Migrate(t.Context(), db, pgmigrate.Options{LockTimeout: 20 * time.Millisecond})

	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Equal(t, pgerr.LockNotAvailable, pgErr.Code)
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, set(first, second).Migrate(t.Context(), db, pgmigrate.Options{}))
}

func TestMigrateNeedsNoPrivilegeToFindNothingToDo(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	s := set(first, second)
	require.NoError(t, s.Migrate(t.Context(), pgmigrate.FromPool(env.Pool), pgmigrate.Options{}))
	conn := env.Connect(t)
	schema := pgx.Identifier{s.Schema}.Sanitize()
	role := pgx.Identifier{env.Name + "_ro"}.Sanitize()
	_, err := conn.Exec(t.Context(), `BEGIN; CREATE ROLE `+role+`; GRANT USAGE ON SCHEMA `+schema+` TO `+role+`;
		GRANT SELECT ON `+s.Qualified("_migrations")+` TO `+role+`; COMMIT; SET ROLE `+role)
	require.NoError(t, err)

	require.NoError(t, s.Migrate(t.Context(), pgmigrate.FromConn(conn), pgmigrate.Options{}))

	_, err = conn.Exec(t.Context(), `RESET ROLE; DROP OWNED BY `+role+`; DROP ROLE `+role)
	require.NoError(t, err)
}

func TestMigrateInAGivenSchemaWithoutCreateOnTheDatabase(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	s := set(first)
	conn := env.Connect(t)
	role := pgx.Identifier{env.Name + "_own"}.Sanitize()
	_, err := conn.Exec(t.Context(), `CREATE ROLE `+role)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `CREATE SCHEMA `+pgx.Identifier{s.Schema}.Sanitize()+` AUTHORIZATION `+role+`; SET ROLE `+role)
	require.NoError(t, err)

	require.NoError(t, s.Migrate(t.Context(), pgmigrate.FromConn(conn), pgmigrate.Options{}))
	s.Schema = "elsewhere"
	require.ErrorContains(t, s.Migrate(t.Context(), pgmigrate.FromConn(conn), pgmigrate.Options{}), "permission denied")

	_, err = conn.Exec(t.Context(), `RESET ROLE; DROP OWNED BY `+role+`; DROP ROLE `+role)
	require.NoError(t, err)
}

func TestMigrateThroughDatabaseSQL(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)

	require.NoError(t, set(first, second).Migrate(t.Context(), pgmigrate.FromSQL(env.SQL(t)), pgmigrate.Options{}))
	require.NoError(t, set(first, second).Require(t.Context(), pgmigrate.FromPool(env.Pool), 2))
}

func TestMigrateRefusesAnOpenTransaction(t *testing.T) {
	t.Parallel()
	conn := testenv.Postgres(t).Connect(t)
	_, err := conn.Exec(t.Context(), `BEGIN`)
	require.NoError(t, err)

	err = set(first).Migrate(t.Context(), pgmigrate.FromConn(conn), pgmigrate.Options{})

	require.ErrorContains(t, err, "inside a transaction")
	require.ErrorContains(t, set(first).Migrate(t.Context(), pgmigrate.DB{}, pgmigrate.Options{}), "no database given")
}

func TestMigrateUnderAnotherDefaultIsolation(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	config := env.Pool.Config()
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
	config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)

	require.NoError(t, sideBySide(6, func(int) error {
		return set(first, second).Migrate(t.Context(), pgmigrate.FromPool(pool), pgmigrate.Options{})
	}))
}

func TestSetRefusesBadFiles(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file, sql, want string
	}{
		"no version": {"init.sql", first, "not called like"},
		"gap":        {"00002_init.sql", first, "should have version 1"},
		"bad token":  {"00001_init.sql", "@{nope}", "unknown token @{nope}"},
		"no file":    {"readme.txt", "", "there are none"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := set()
			s.FS = fstest.MapFS{tt.file: &fstest.MapFile{Data: []byte(tt.sql)}}
			require.ErrorContains(t, s.Validate(), tt.want)
		})
	}
}
