package pginbox_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox"
)

// TestI3_RowLevelSecurityIsRefused: S1: a role from which rows of the inbox are hidden
// processes nothing, and is told why.
func TestI3_RowLevelSecurityIsRefused(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"", "_consumers", "_watermarks"} {
		t.Run("inbox"+table, func(t *testing.T) {
			t.Parallel()
			env := forgetting(t, pginbox.MaintenanceConfig{NoDDL: true})
			pool := roleWith(t, env, grants("UPDATE (ids)", "_consumers", "SELECT, INSERT", "_consumers", "", "_ranges", "SELECT", "_retention", "_parked"), "")
			consumer := uuid.NewString()
			require.NoError(t, useIDs(t.Context(), pool, consumer))
			_, err := env.Pool.Exec(t.Context(), "ALTER TABLE leat.inbox"+table+" ENABLE ROW LEVEL SECURITY; "+
				"CREATE POLICY writers ON leat.inbox"+table+" FOR INSERT WITH CHECK (true)")
			require.NoError(t, err)
			pool.Reset()
			err = useIDs(t.Context(), pool, consumer)
			require.ErrorIs(t, err, outbox.ErrRowSecurity)
			require.ErrorContains(t, err, "leat.inbox"+table)
			require.NoError(t, useIDs(t.Context(), env.Pool, uuid.NewString()), "its owner sees all rows")
		})
	}
}
