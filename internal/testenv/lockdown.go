package testenv

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// LockDown takes the advisory locks of db from every role but those of roles, by the
// statements that docs/operations.md shows to operators.
func LockDown(tb testing.TB, db *Database, roles ...string) {
	tb.Helper()
	_, file, _, ok := runtime.Caller(0)
	require.True(tb, ok)
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(file), "../../docs/operations.md"))
	require.NoError(tb, err)
	_, section, ok := strings.Cut(string(raw), "## Who may lock\n")
	require.True(tb, ok)
	_, section, ok = strings.Cut(section, "```sql\n")
	require.True(tb, ok)
	sql, _, _ := strings.Cut(section, "```")
	require.Contains(tb, sql, "leat_services")
	names := make([]string, len(roles))
	for i, role := range roles {
		names[i] = pgx.Identifier{role}.Sanitize()
	}
	_, err = db.Pool.Exec(tb.Context(), strings.ReplaceAll(sql, "leat_services", strings.Join(names, ", ")), pgx.QueryExecModeSimpleProtocol)
	require.NoError(tb, err)
}
