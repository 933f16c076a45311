package pgoutbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgmigrate"
)

// loadStatements returns the statements of a directory by name, for the default configuration.
func loadStatements(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.sql"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	statements := map[string]string{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		require.NoError(t, err)
		sql, err := pgmigrate.Names{Schema: "leat", Table: "outbox"}.Render(string(raw))
		require.NoError(t, err)
		statements[strings.TrimSuffix(filepath.Base(f), ".sql")] = sql
	}
	return statements
}
