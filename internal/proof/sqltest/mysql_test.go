package sqltest_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
)

func TestMySQLDatabasesAreATestsOwn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server func(tb testing.TB) testenv.MySQLServer
		open   func(tb testing.TB) *sql.DB
	}{
		"MySQL": {testenv.MySQL, sqltest.MySQL}, "MariaDB": {testenv.MariaDB, sqltest.MariaDB},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dropped, kept string
			keeper := c.open(t)
			require.NoError(t, keeper.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&kept))
			t.Run("owner", func(t *testing.T) {
				db := c.open(t)
				require.NoError(t, db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&dropped))
				_, err := db.ExecContext(t.Context(), "CREATE TABLE t (n INT)")
				require.NoError(t, err)
			})
			require.NotEqual(t, kept, dropped)
			var left int
			err := keeper.QueryRowContext(t.Context(),
				"SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name IN (?, ?)", kept, dropped).Scan(&left)
			require.NoError(t, err)
			require.Equal(t, 1, left)
		})
	}
}

func TestOpenMySQLSetsVariables(t *testing.T) {
	t.Parallel()
	config := sqltest.NewMySQLDatabase(t, testenv.MariaDB(t).URL)
	db := sqltest.OpenMySQL(t, config, map[string]string{"innodb_lock_wait_timeout": "3"})
	var seconds int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT @@innodb_lock_wait_timeout").Scan(&seconds))
	require.Equal(t, 3, seconds)
}
