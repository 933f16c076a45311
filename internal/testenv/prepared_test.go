package testenv

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
