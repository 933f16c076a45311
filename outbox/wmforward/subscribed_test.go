package wmforward_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/wmforward"
)

// TestO2_TargetOfASubscriptionIsRefused: rows that a subscription has written carry the
// transaction ids of another server.
//
//leat:level 2
func TestO2_TargetOfASubscriptionIsRefused(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off", "wal_level": "logical"}})
	from, to := server.Database(t, initialized()), server.Database(t, initialized())
	exec(t, from, "CREATE PUBLICATION forwarder FOR TABLE watermill_forwarder_topic")
	exec(t, from, "SELECT pg_create_logical_replication_slot('target', 'pgoutput')")
	src := newSource(t, to, wmforward.Config{})
	require.NoError(t, src.Check(t.Context()))
	exec(t, to, "CREATE SUBSCRIPTION forwarder CONNECTION '"+from.URL+"' PUBLICATION forwarder WITH (create_slot = false, slot_name = 'target', copy_data = false)")
	for range 2 {
		err := src.Check(t.Context())
		require.ErrorIs(t, err, basis.ErrSubscribed)
		require.ErrorIs(t, err, driver.ErrSourceUnusable)
		_, err = src.Acquire(t.Context(), testLease)
		require.ErrorIs(t, err, basis.ErrSubscribed)
	}
	exec(t, to, "ALTER SUBSCRIPTION forwarder DISABLE")
	exec(t, to, "ALTER SUBSCRIPTION forwarder SET (slot_name = NONE)")
	exec(t, to, "DROP SUBSCRIPTION forwarder")
	require.NoError(t, src.Check(t.Context()))
}

// TestO2_PlaceOfASource is what relay.Config.Expect is compared with.
func TestO2_PlaceOfASource(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, initialized())
	is, err := newSource(t, db, wmforward.Config{}).Place(t.Context())
	require.NoError(t, err)
	cfg := db.Pool.Config().ConnConfig
	require.Equal(t, [2]string{cfg.Host, cfg.Database}, [2]string{is.Host, is.Database})
	require.NotEmpty(t, is.Instance)
}
