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
