package testenv_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// create is a template that makes one table with one row, counting its runs.
func create(table, version string, runs *atomic.Int64) testenv.Template {
	return testenv.Template{
		Name:    "testenv " + table,
		Version: version,
		Apply: func(ctx context.Context, url string) error {
			runs.Add(1)
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				return err
			}
			_, err = conn.Exec(ctx, `CREATE TABLE `+table+` AS SELECT 1 AS n`)
			if closeErr := conn.Close(ctx); err == nil {
				err = closeErr
			}

			return err
		},
	}
}

func count(t *testing.T, db *testenv.Database, table string) int {
	t.Helper()
	var n int
	require.NoError(t, db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n))

	return n
}

func TestPostgres_EachTestHasItsOwnCloneOfTheTemplate(t *testing.T) {
	t.Parallel()

	var runs atomic.Int64
	template := create("numbers", rand(), &runs)
	testenv.DropTemplate(t, template)
	first, second := testenv.Postgres(t, template), testenv.Postgres(t, template)
	_, err := first.Pool.Exec(t.Context(), `INSERT INTO numbers VALUES (2), (3)`)
	require.NoError(t, err)

	require.Equal(t, 3, count(t, first, "numbers"))
	require.Equal(t, 1, count(t, second, "numbers"))
	require.EqualValues(t, 1, runs.Load(), "the template is applied once a server")
	require.True(t, strings.HasPrefix(first.Name, "leat_test_"), first.Name)
}

func TestPostgres_TestsThatComeTogetherShareOneTemplate(t *testing.T) {
	t.Parallel()

	var runs atomic.Int64
	template := create("together", rand(), &runs)
	testenv.DropTemplate(t, template)
	t.Run("together", func(t *testing.T) { //nolint:tparallel // the parent counts when all have ended
		for range 6 {
			t.Run("one", func(t *testing.T) {
				t.Parallel()
				require.Equal(t, 1, count(t, testenv.Postgres(t, template), "together"))
			})
		}
	})

	require.EqualValues(t, 1, runs.Load())
}

func TestPostgres_TwoTemplatesAreAppliedInOrder(t *testing.T) {
	t.Parallel()

	var runs atomic.Int64
	version := rand()
	templates := []testenv.Template{create("outer_rows", version, &runs), create("inner_rows", version, &runs)}
	testenv.DropTemplate(t, templates...)
	db := testenv.Postgres(t, templates...)

	require.Equal(t, 1, count(t, db, "outer_rows"))
	require.Equal(t, 1, count(t, db, "inner_rows"))
}

func TestPostgres_AnotherVersionIsAnotherTemplate(t *testing.T) {
	t.Parallel()

	var runs atomic.Int64
	version := rand()
	for _, suffix := range []string{"a", "b"} {
		template := create("versioned", version+suffix, &runs)
		testenv.DropTemplate(t, template)
		testenv.Postgres(t, template)
	}

	require.EqualValues(t, 2, runs.Load())
}

func TestPostgres_IsDroppedAfterTheTest(t *testing.T) {
	t.Parallel()

	watcher := testenv.Postgres(t)
	var name string
	t.Run("owner", func(t *testing.T) {
		db := testenv.Postgres(t)
		name = db.Name
		db.Connect(t) // left open on purpose: the drop is forced
		require.NoError(t, db.SQL(t).PingContext(t.Context()))
	})

	var exists bool
	err := watcher.Pool.QueryRow(t.Context(),
		`SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&exists)
	require.NoError(t, err)
	require.False(t, exists)
}

func rand() string { return testenv.UniqueName() }

//leat:level 0
func TestVersionOf(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"1.sql": {Data: []byte("one")}, "more/2.sql": {Data: []byte("two")}}
	version := testenv.VersionOf(files, nil)
	require.Equal(t, version, testenv.VersionOf(files, nil))
	files["more/2.sql"] = &fstest.MapFile{Data: []byte("three")}
	require.NotEqual(t, version, testenv.VersionOf(files, nil))
	require.Equal(t, "no files", testenv.VersionOf(nil, errors.New("no files")))
}
