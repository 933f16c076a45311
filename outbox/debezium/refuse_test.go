package debezium_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/adopt"
	"github.com/leat-go/leat/outbox/debezium"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestHandoff_Refuses needs a slot, and no connector: one that is stopped and has rows left,
// and a relay that has been started too early.
//
//leat:level 4
func TestHandoff_Refuses(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off", "wal_level": "logical"}})
	db := server.Database(t, migrated())
	exec(t, db, standard)
	exec(t, db, "CREATE PUBLICATION dbz_publication FOR TABLE outbox WITH (publish = 'insert')")
	exec(t, db, createSlot, "debezium")
	slot, err := debezium.NewSlot(db.Pool, debezium.SlotConfig{})
	require.NoError(t, err)
	table, err := adopt.New(db.Pool, standardTable())
	require.NoError(t, err)
	ob := enqueue(t, db, []outbox.Message{{Topic: "t", Payload: []byte("before the group")}})
	source := pgoutbox.SourceConfig{Group: "late", Start: driver.Start{Oldest: true}}
	h, err := debezium.NewHandoff(ob, slot, debezium.HandoffConfig{Source: source, Table: table, Poll: time.Millisecond, Actor: "a test", Reason: "refuse"})
	require.NoError(t, err)

	exec(t, db, insert, "order", "1")
	_, err = h.Prepare(t.Context())
	require.ErrorIs(t, err, debezium.ErrConnectorStopped)
	require.ErrorContains(t, err, "1 rows")
	is, err := table.Adopted(t.Context())
	require.NoError(t, err)
	require.False(t, is, "nothing has changed")

	exec(t, db, "SELECT pg_replication_slot_advance('debezium', pg_current_wal_lsn())") // it has sent it
	position, err := h.Prepare(t.Context())
	require.NoError(t, err)
	require.NoError(t, h.AwaitConnector(t.Context(), position))
	stats, err := ob.Admin().Stats(t.Context())
	require.NoError(t, err)
	require.Len(t, stats.Groups, 1)
	require.EqualValues(t, 1, stats.Groups[0].Slots[0].Backlog, "the group begins where it is said to")

	exec(t, db, insert, "order", "2")
	end := lead(t, ob, source)
	require.ErrorIs(t, h.AwaitConnector(t.Context(), position), debezium.ErrRelayRunning)
	end()
	_, err = h.Prepare(t.Context())
	require.ErrorIs(t, err, debezium.ErrConnectorStopped, "what has come since is its own to send")
}

// lead holds the lease of the group, until what it returns is called.
func lead(t *testing.T, ob *pgoutbox.Outbox, cfg pgoutbox.SourceConfig) (end func()) {
	t.Helper()
	source, err := ob.Source(cfg)
	require.NoError(t, err)
	session, err := source.Acquire(t.Context(), time.Minute)
	require.NoError(t, err)
	return func() { require.NoError(t, session.Release(context.WithoutCancel(t.Context()))) }
}

// TestHandoff_LeavesOut counts what a group has not sent, if it would begin anew.
func TestHandoff_LeavesOut(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, migrated())
	exec(t, db, standard)
	table, err := adopt.New(db.Pool, standardTable())
	require.NoError(t, err)
	slot, err := debezium.NewSlot(db.Pool, debezium.SlotConfig{})
	require.NoError(t, err)
	ob := enqueue(t, db, []outbox.Message{{Topic: "t", Payload: []byte("1")}, {Topic: "t", Payload: []byte("2")}})
	lead(t, ob, pgoutbox.SourceConfig{Group: "default"})()
	for _, c := range []struct {
		group string
		table *adopt.Table
		want  int64
	}{{"default", nil, 2}, {"new", nil, 0}, {"default", table, 0}} {
		h, err := debezium.NewHandoff(ob, slot, debezium.HandoffConfig{
			Source: pgoutbox.SourceConfig{Group: c.group}, Table: c.table, Actor: "a test", Reason: "count",
		})
		require.NoError(t, err)
		n, err := h.LeavesOut(t.Context())
		require.NoError(t, err)
		require.Equal(t, c.want, n)
	}
}
