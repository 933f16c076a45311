package sqltest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
)

//leat:level 1
func TestMain(m *testing.M) {
	testenv.Main(m)
}

func TestSQLiteIsAsAsked(t *testing.T) {
	t.Parallel()
	db := sqltest.SQLite(t)
	for pragma, want := range map[string]string{"journal_mode": "wal", "busy_timeout": "60000", "synchronous": "2"} {
		var got string
		require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got))
		require.Equal(t, want, got, pragma)
	}
}

func TestSQLiteTransactionsLockAsTheyBegin(t *testing.T) {
	t.Parallel()
	db := sqltest.SQLite(t)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback()) }()

	other, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	_, err = other.ExecContext(t.Context(), "PRAGMA busy_timeout(0)")
	require.NoError(t, err)
	_, err = other.BeginTx(t.Context(), nil)
	require.ErrorContains(t, err, "database is locked")
}
