package testenv_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// TestPgPool: reads that call no volatile function are answered by the standby, as it was when it
// was paused.
func TestPgPool(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts servers of its own")
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off"}})
	standby := server.Standby(t)
	db := server.Database(t)
	_, err := db.Pool.Exec(t.Context(), "CREATE TABLE numbers (n int)")
	require.NoError(t, err)
	standby.Pause()
	balanced := testenv.PgPool(t, db, server, standby)
	require.Equal(t, db.Name, balanced.Name)

	_, err = balanced.Pool.Exec(t.Context(), "INSERT INTO numbers VALUES (1)")
	require.NoError(t, err)
	count := func(sql string) (n int) {
		require.NoError(t, balanced.Pool.QueryRow(t.Context(), sql).Scan(&n))
		return n
	}
	require.Equal(t, 0, count("SELECT count(*) FROM numbers"))
	require.Equal(t, 1, count("SELECT count(*) FROM numbers WHERE NOT pg_is_in_recovery()"))
	standby.Resume()
	standby.Pause()
	require.Equal(t, 1, count("SELECT count(*) FROM numbers"))
}
