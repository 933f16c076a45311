package debezium_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/adopt"
	"github.com/leat-go/leat/outbox/debezium"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// logical starts a server on which slots can be made.
func logical(t *testing.T) *testenv.PostgresServer {
	t.Helper()
	return testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{
		"fsync": "off", "wal_level": "logical", "max_replication_slots": "30",
	}})
}

// toConnector is a handoff to a connector, of leat's own table or of the standard one. Its
// group has a relay's position and no relay.
func toConnector(t *testing.T, db *testenv.Database, slot debezium.SlotConfig, own bool) *debezium.Handoff {
	t.Helper()
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	lead(t, ob, pgoutbox.SourceConfig{})()
	cfg := debezium.HandoffConfig{Poll: time.Millisecond, Actor: "a test", Reason: "go to Connect"}
	if !own {
		cfg.Table, err = adopt.New(db.Pool, standardTable())
		require.NoError(t, err)
	}
	s, err := debezium.NewSlot(db.Pool, slot)
	require.NoError(t, err)
	h, err := debezium.NewHandoff(ob, s, cfg)
	require.NoError(t, err)
	return h
}

// TestO2_PrepareConnector_RefusesAPublication that would not have all rows: the connector
// would never see the others.
//
//leat:level 4
func TestO2_PrepareConnector_RefusesAPublication(t *testing.T) {
	t.Parallel()
	server := logical(t)
	const root = ", publish_via_partition_root = true)"
	for _, c := range []struct {
		name, publication, says string
		own                     bool
		since                   int // major version
	}{
		{name: "without inserts", publication: "FOR TABLE outbox WITH (publish = 'update, delete')", says: "does not publish inserts"},
		{name: "without the table", publication: "", says: "does not publish the table"},
		{name: "filters rows", publication: "FOR TABLE outbox WHERE (aggregatetype <> 'order')", says: "filters rows or columns", since: 15},
		{name: "filters columns", publication: "FOR TABLE outbox (id, aggregateid, aggregatetype, type)", says: "filters rows or columns", since: 15},
		{name: "under the names of ranges", publication: "FOR ALL TABLES", says: "without publish_via_partition_root", own: true},
		{name: "leat's own without inserts", publication: "FOR TABLE leat.outbox WITH (publish = 'truncate'" + root, says: "does not publish inserts", own: true},
		{name: "leat's own filters rows", publication: "FOR TABLE leat.outbox WHERE (seq > 7) WITH (publish = 'insert'" + root, says: "filters rows or columns", own: true, since: 15},
		{name: "all tables", publication: "FOR ALL TABLES"},
		{name: "one table", publication: "FOR TABLE outbox"},
		{name: "leat's own", publication: "FOR TABLE leat.outbox WITH (publish = 'insert'" + root, own: true},
		{name: "tables of the schema", publication: "FOR TABLES IN SCHEMA leat WITH (publish = 'insert'" + root, own: true, since: 15},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.since > major(t, server) {
				t.Skipf("version %s has no such publication", server.Version())
			}
			db := server.Database(t, migrated())
			exec(t, db, standard)
			exec(t, db, "CREATE PUBLICATION p "+c.publication)
			h := toConnector(t, db, debezium.SlotConfig{Slot: slotOf(t, db), Publication: "p", SnapshotMode: "no_data"}, c.own)
			may, is := h.MayPrepareConnector(t.Context()), h.PrepareConnector(t.Context())
			if c.says == "" {
				require.NoError(t, may)
				require.NoError(t, is)
				require.NoError(t, h.PrepareConnector(t.Context()), "a second time is as good")
				return
			}
			for _, err := range []error{may, is} {
				require.ErrorIs(t, err, outbox.ErrInvalidConfig)
				require.ErrorContains(t, err, `Publication`)
				require.ErrorContains(t, err, c.says)
			}
			require.Zero(t, slots(t, db), "nothing has changed")
		})
	}
}

// TestO2_PrepareConnector_RefusesASlotThatIsOlderThanItsPublication: up to version 17 the
// connector would fail at each start, from 18 on it would skip rows in silence.
//
//leat:level 4
func TestO2_PrepareConnector_RefusesASlotThatIsOlderThanItsPublication(t *testing.T) {
	t.Parallel()
	server := logical(t)
	db := server.Database(t, migrated())
	exec(t, db, createSlot, "older")
	h := toConnector(t, db, debezium.SlotConfig{Slot: "older", Publication: "p", SnapshotMode: "no_data"}, true)
	for _, err := range []error{h.MayPrepareConnector(t.Context()), h.PrepareConnector(t.Context())} {
		require.ErrorIs(t, err, debezium.ErrSlotOlder)
		require.ErrorContains(t, err, "older")
	}
	var made bool
	require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_publication)").Scan(&made))
	require.False(t, made, "a second time would find the publication, and keep the slot")
	exec(t, db, "SELECT pg_drop_replication_slot('older')")
	require.NoError(t, h.PrepareConnector(t.Context()))
	require.NoError(t, h.PrepareConnector(t.Context()), "a slot that is younger is kept")
}

// TestSlot_OfAnotherPlugin: a slot of a plugin that leat does not know is refused by the plugin's name.
//
//leat:level 4
func TestSlot_OfAnotherPlugin(t *testing.T) {
	t.Parallel()
	server := logical(t)
	db := server.Database(t, migrated())
	exec(t, db, "SELECT pg_create_logical_replication_slot('other', '$libdir/pgoutput')")
	exec(t, db, publishLeat)
	h := toConnector(t, db, debezium.SlotConfig{Slot: "other", Publication: "leat", SnapshotMode: "no_data"}, true)
	_, may := h.MayPrepare(t.Context())
	for _, err := range []error{may, h.MayPrepareConnector(t.Context()), h.PrepareConnector(t.Context())} {
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, "$libdir/pgoutput")
	}
}

// TestPrepareConnector_RefusesASnapshot: all that is still in the table would be sent
// again, also what inboxes have forgotten. The connector's default is one.
//
//leat:level 4
func TestPrepareConnector_RefusesASnapshot(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, migrated())
	for _, mode := range []string{"", "initial", "always", "when_needed", "initial_only", "custom"} {
		h := toConnector(t, db, debezium.SlotConfig{SnapshotMode: mode}, true)
		for _, err := range []error{h.MayPrepareConnector(t.Context()), h.PrepareConnector(t.Context())} {
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.ErrorContains(t, err, "snapshot.mode")
			require.ErrorContains(t, err, mode)
			require.ErrorContains(t, err, "no_data")
		}
	}
}

// major is the server's version, without its minor.
func major(t *testing.T, server *testenv.PostgresServer) int {
	t.Helper()
	number, _, _ := strings.Cut(server.Version(), ".")
	n, err := strconv.Atoi(number)
	require.NoError(t, err)
	return n
}

// slotOf is a name of a slot that no other database of the server has.
func slotOf(t *testing.T, db *testenv.Database) string {
	t.Helper()
	var oid uint32
	require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT oid FROM pg_database WHERE datname = current_database()").Scan(&oid))
	return fmt.Sprint("slot_", oid)
}

// slots counts the slots of the database.
func slots(t *testing.T, db *testenv.Database) (n int) {
	t.Helper()
	require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()").Scan(&n))
	return n
}
