package testenv_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// TestPgBouncer_Modes: in transaction mode a client that is between transactions
// has no server connection of its own, in session mode it has.
//
//leat:level 4
func TestPgBouncer_Modes(t *testing.T) {
	t.Parallel()

	for _, mode := range []testenv.PoolMode{testenv.PoolSession, testenv.PoolTransaction} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t)
			pooled := testenv.PgBouncer(t, db, mode)
			require.Equal(t, db.Name, pooled.Name)
			var name string
			require.NoError(t, pooled.Pool.QueryRow(t.Context(), "SELECT current_database()").Scan(&name))
			require.Equal(t, db.Name, name)

			first, second := pooled.Connect(t), pooled.Connect(t)
			var a, b int
			require.NoError(t, first.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&a))
			tx, err := second.Begin(t.Context())
			require.NoError(t, err)
			require.NoError(t, tx.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&b))
			require.Equal(t, mode == testenv.PoolTransaction, a == b)
			require.NoError(t, tx.Rollback(t.Context()))
		})
	}
}

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
