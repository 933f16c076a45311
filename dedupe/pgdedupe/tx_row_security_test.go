package pgdedupe_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe/pgdedupe"
	"github.com/leat-go/leat/outbox"
)

// TestRowLevelSecurityIsRefused: S1: a role from which responses are hidden claims
// nothing.
func TestRowLevelSecurityIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	role := "least_" + uuid.NewString()
	_, err := s.pool.Exec(t.Context(), `CREATE ROLE "`+role+`"; GRANT USAGE ON SCHEMA leat TO "`+role+`";
		GRANT SELECT, INSERT, UPDATE, DELETE ON leat.http_responses TO "`+role+`"`)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := s.pool.Exec(context.Background(), `DROP OWNED BY "`+role+`"; DROP ROLE "`+role+`"`)
		require.NoError(t, err)
	})
	cfg := s.pool.Config()
	cfg.ConnConfig.RuntimeParams["role"] = role
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer pool.Close()
	store, err := pgdedupe.NewTx(pool, "shop", pgdedupe.Config{})
	require.NoError(t, err)
	unit, _, err := store.Claim(t.Context(), "1", "f")
	require.NoError(t, err)
	require.NoError(t, unit.Rollback(t.Context()))
	_, err = s.pool.Exec(t.Context(), "ALTER TABLE leat.http_responses ENABLE ROW LEVEL SECURITY; "+
		"CREATE POLICY writers ON leat.http_responses FOR INSERT WITH CHECK (true)")
	require.NoError(t, err)
	_, _, err = store.Claim(t.Context(), "1", "f")
	require.ErrorIs(t, err, outbox.ErrRowSecurity)
}
