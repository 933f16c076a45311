package testenv

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// TestMaintenance_IsKept: the second user gets the first one's connection, unless it was
// cut.
func TestMaintenance_IsKept(t *testing.T) {
	t.Parallel()

	service := use(t, KindPostgres)
	var m maintenance
	defer func() { require.NoError(t, m.close(t.Context())) }()
	pid := func(statement string) (pid uint32) {
		require.NoError(t, m.use(t.Context(), service.Address, func(conn *pgx.Conn) error {
			pid = conn.PgConn().PID()
			_, err := conn.Exec(t.Context(), statement)

			return err
		}))

		return pid
	}
	first := pid("SELECT 1")
	require.Equal(t, first, pid("SELECT 2"))

	other := Postgres(t)
	_, err := other.Pool.Exec(t.Context(), `SELECT pg_terminate_backend($1, 5000)`, first)
	require.NoError(t, err)
	require.NotEqual(t, first, pid("SELECT 3"))

	m.none = true
	last := pid("SELECT 4")
	require.NotEqual(t, last, pid("SELECT 5"), "a server of a test's own is left by all")
}

//leat:level 4
func TestForget_DropsADatabaseWithAPreparedTransaction(t *testing.T) {
	t.Parallel()

	server := PrivatePostgres(t, PostgresOptions{})
	db := server.Database(t)
	for _, statement := range []string{
		`CREATE TABLE held (n int)`, `BEGIN`, `INSERT INTO held VALUES (1)`, `PREPARE TRANSACTION 'it''s held'`,
	} {
		_, err := db.Pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	db.Pool.Close()

	require.NoError(t, server.env.forget(t.Context(), db.Name))
	require.Error(t, dropDatabase(t.Context(), nil, "somebody_elses"), "only our databases are ever dropped")
}
