package pgoutbox_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestS12_FunctionsOfStrangers: other users have created functions, aggregates and operators in a schema
// of the search path that match the arguments better than PostgreSQL's own. Migrate, producers, relays,
// maintenance and operators call none of them.
func TestS12_FunctionsOfStrangers(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	testenv.Strangers(t, db)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(t.Context()))
	src := source(t, ob, "default")
	require.NoError(t, src.Check(t.Context()))
	setAsideAndBack(t, holdingOf(t, ob, db, "default"))
	once(t, maintenance(t, ob, pgoutbox.MaintenanceConfig{}))
	statsOf(t, ob)
	testenv.RequireNotCalled(t, db)

	// A relay's statements name their schemas. Its sessions do not rest on that alone.
	conn, err := src.ConnectOwn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	var path string
	require.NoError(t, conn.QueryRow(t.Context(), "SHOW search_path").Scan(&path))
	require.Equal(t, "pg_catalog, pg_temp", path)
}

// TestS12_FunctionsOfStrangersBehindAPooler does the same for a relay that cannot set up its sessions.
func TestS12_FunctionsOfStrangersBehindAPooler(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, migrated())
	testenv.Strangers(t, db)
	pooled := testenv.PgBouncer(t, db, testenv.PoolTransaction)
	ob, err := pgoutbox.New(pooled.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	setAsideAndBack(t, holdingOf(t, ob, db, "default"))
	testenv.RequireNotCalled(t, db)
}
