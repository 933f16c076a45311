package pgmigrate_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/testenv"
)

func TestExportRunsAsGooseAndTernWould(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	s := set(first, second)

	files, err := s.Export()
	require.NoError(t, err)
	require.NoError(t, fstest.TestFS(files, "00001_init.sql", "00002_note.sql"))

	// goose hands over what stands between the markers as one statement, tern the
	// whole file; both in a transaction.
	for i, name := range []string{"00001_init.sql", "00002_note.sql"} {
		text, err := fs.ReadFile(files, name)
		require.NoError(t, err)
		sql := string(text)
		require.NotContains(t, sql, "{{")
		require.NotContains(t, sql, "create above / drop below")
		require.True(t, strings.HasPrefix(sql, "-- +goose Up\n"))
		if i == 0 {
			_, rest, begun := strings.Cut(sql, "-- +goose StatementBegin\n")
			body, after, ended := strings.Cut(rest, "-- +goose StatementEnd\n")
			require.True(t, begun && ended)
			require.Empty(t, after)
			sql = body
		}
		tx, err := env.Pool.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), sql)
		require.NoError(t, err)
		require.NoError(t, tx.Commit(t.Context()))
	}

	db := pgmigrate.FromPool(env.Pool)
	require.NoError(t, s.Require(t.Context(), db, 2))
	require.NoError(t, s.Migrate(t.Context(), db, pgmigrate.Options{}), "Migrate must agree with the tool")
}

func TestExportRefusesTemplates(t *testing.T) {
	t.Parallel()
	_, err := set(first, `SELECT '{{';`).Export()
	require.ErrorContains(t, err, "tern would take for a template")
}
