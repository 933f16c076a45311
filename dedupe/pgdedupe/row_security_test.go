package pgdedupe_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/pgdedupe"
	"github.com/leat-go/leat/outbox"
)

// TestD6_RowLevelSecurityIsRefused: S1: a record that cannot be seen is an error, and
// nothing that a claim waits for.
func TestD6_RowLevelSecurityIsRefused(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	key, req := dedupe.Key{Consumer: "c", ID: "m"}, dedupe.Request{Token: "t", Lease: time.Minute}
	_, err := s.Claim(t.Context(), key, req)
	require.NoError(t, err)
	_, err = s.Complete(t.Context(), key, "t", nil)
	require.NoError(t, err)

	role := "least_" + uuid.NewString()
	_, err = s.pool.Exec(t.Context(), `CREATE ROLE "`+role+`"; GRANT USAGE ON SCHEMA leat TO "`+role+`";
		GRANT SELECT, INSERT, UPDATE, DELETE ON leat.dedupe TO "`+role+`";
		ALTER TABLE leat.dedupe ENABLE ROW LEVEL SECURITY;
		CREATE POLICY under_way ON leat.dedupe USING (state = 'p') WITH CHECK (true)`)
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
	hidden, err := pgdedupe.New(pool, pgdedupe.Config{})
	require.NoError(t, err)
	req.Token = "u"
	_, err = hidden.Claim(t.Context(), key, req)
	require.ErrorIs(t, err, outbox.ErrRowSecurity)
	_, err = hidden.Complete(t.Context(), key, "u", nil)
	require.ErrorContains(t, err, "row-level security", "PostgreSQL says so itself")
}
