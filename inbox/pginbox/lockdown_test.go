package pginbox_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestPrivileges_AdvisoryLocks: with the advisory locks taken from all other roles, as
// docs/security.md shows, consumers work. S6.
func TestPrivileges_AdvisoryLocks(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{NoDDL: true})
	all := grants("SELECT, INSERT, UPDATE, DELETE", "", "_consumers", "_ranges", "_retention", "_attempts", "_parked", "_audit", "_notes", "_sources", "_watermarks")
	pool := roleWith(t, env, all, "")
	bystander := roleWith(t, env, all, "")
	var role string
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT current_user::text").Scan(&role))
	testenv.LockDown(t, env, role)
	for name, use := range map[string]func(context.Context, *pgxpool.Pool, string) error{
		"ids": useIDs, "policy": usePolicy, "parking": useParking, "notes": useNotes, "positions": usePositions,
	} {
		require.NoError(t, use(t.Context(), pool, uuid.NewString()), name)
	}
	require.ErrorContains(t, useIDs(t.Context(), bystander, uuid.NewString()), "permission denied for function")
}
