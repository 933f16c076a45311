package sqltest_test

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlmigrate"
	"github.com/leat-go/leat/outbox"
)

const (
	first  = "-- A comment; with a semicolon.\nCREATE TABLE IF NOT EXISTS @{} (id BIGINT NOT NULL PRIMARY KEY);\n@{insert_ignore} @{} (id) VALUES (1);\n"
	second = "CREATE TABLE IF NOT EXISTS @{_more} (id BIGINT NOT NULL PRIMARY KEY);\n"
)

func set(t *testing.T, files ...string) sqlmigrate.Set {
	t.Helper()
	d, err := sqldialect.Of(outbox.SQLite)
	require.NoError(t, err)
	s := sqlmigrate.Set{Component: "test", Dialect: d, Table: "box", FS: fstest.MapFS{}}
	for i, text := range files {
		s.FS.(fstest.MapFS)["migrations/sqlite/0000"+string(rune('1'+i))+"_x.sql"] = &fstest.MapFile{Data: []byte(text)}
	}
	return s
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	db := sqltest.SQLite(t)
	require.ErrorIs(t, set(t, first).Require(t.Context(), db, 1), sqlmigrate.ErrBehind)

	var wg sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		wg.Go(func() { errs[i] = set(t, first).Migrate(t.Context(), db) })
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.NoError(t, set(t, first).Require(t.Context(), db, 1))
	require.NoError(t, set(t, first, second).Migrate(t.Context(), db))
	require.NoError(t, set(t, first, second).Require(t.Context(), db, 2))
	require.NoError(t, set(t, first).Migrate(t.Context(), db), "a newer release has migrated already")
	require.Equal(t, 1, count(t, db, "box"))
}

func TestMigrateChangesNothingIfItFails(t *testing.T) {
	t.Parallel()
	db := sqltest.SQLite(t)

	require.ErrorContains(t, set(t, first+"nonsense;\n").Migrate(t.Context(), db), "00001_x.sql")

	current, err := set(t, first).Current(t.Context(), db)
	require.NoError(t, err)
	require.Zero(t, current)
	require.NoError(t, set(t, first).Migrate(t.Context(), db), "and leaves no lock behind")
}

func TestExportedFilesCountAsMigrated(t *testing.T) {
	t.Parallel()
	db := sqltest.SQLite(t)
	files, err := set(t, first, second).Export()
	require.NoError(t, err)
	require.Len(t, files, 2)
	runFiles(t, db, files)
	require.NoError(t, set(t, first, second).Require(t.Context(), db, 2))
}

func TestExportedFilesDoNothingWhereMigrateHasRun(t *testing.T) {
	t.Parallel()
	db := sqltest.SQLite(t)
	require.NoError(t, set(t, first).Migrate(t.Context(), db))
	files, err := set(t, first, second).Export()
	require.NoError(t, err)
	runFiles(t, db, files)
	require.NoError(t, set(t, first, second).Require(t.Context(), db, 2))
	require.Equal(t, 1, count(t, db, "box"))
}

// runFiles runs two files as a migration tool does.
func runFiles(t *testing.T, db *sql.DB, files map[string]string) {
	t.Helper()
	for _, name := range []string{"00001_x.sql", "00002_x.sql"} {
		for statement := range strings.SplitSeq(files[name], ";\n") {
			if statement != "" {
				_, err := db.ExecContext(t.Context(), statement)
				require.NoError(t, err, statement)
			}
		}
	}
}

func TestSetRefusesBadFiles(t *testing.T) {
	t.Parallel()
	s := set(t)
	s.FS = fstest.MapFS{"migrations/sqlite/00002_x.sql": &fstest.MapFile{Data: []byte(first)}}
	require.ErrorContains(t, s.Migrate(t.Context(), nil), "is not called like 00001_name.sql")
	require.ErrorContains(t, set(t, "@{nope}").Migrate(t.Context(), nil), "unknown token")
}

func count(t *testing.T, db *sql.DB, table string) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(context.Background(), "SELECT COUNT(*) FROM "+table).Scan(&n))
	return n
}
