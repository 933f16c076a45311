package main_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestDebezium goes to a relay and back, with a slot whose connector is stopped and has
// nothing left. What a connector does meanwhile is tested in outbox/debezium.
//
//leat:level 4
func TestDebezium(t *testing.T) {
	t.Parallel()
	ob, db := published(t)
	o := newSession(t, db.URL)
	call := func(code int, says string, args ...string) {
		t.Helper()
		r := o.leat(append([]string{"debezium"}, args...)...)
		require.Equal(t, code, r.code, "%s%s", r.out, r.err)
		require.Contains(t, r.out+r.err, says)
	}
	slots := func() (n int) {
		t.Helper()
		require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_replication_slots").Scan(&n))
		return n
	}
	connector := []string{"--connector", filepath.Join("..", "..", "docs", "debezium", "leat-outbox.json"), "--reason", "no Connect"}
	with := func(step string, flags ...string) []string {
		return append(append([]string{step}, connector...), flags...)
	}

	call(1, "there is no such replication slot", with("to-leat", "--yes")...)
	_, err := db.Pool.Exec(t.Context(), "SELECT pg_create_logical_replication_slot('leat_debezium', 'pgoutput')")
	require.NoError(t, err)
	call(0, "Would have group default begin now.", with("to-leat", "--dry-run")...)
	call(3, "no such relay group", with("from-leat", "--dry-run")...)
	call(0, "start the relay", with("to-leat", "--yes")...)
	call(0, "Would drop slot leat_debezium", with("drop-slot", "--dry-run")...)
	require.Equal(t, 1, slots())
	call(0, "Delete the connector.", with("drop-slot", "--yes")...)
	require.Zero(t, slots())

	call(0, "Would make publication and slot leat_debezium.", with("from-leat", "--dry-run")...)
	require.Zero(t, slots())
	call(0, "start the connector under a new name", with("from-leat", "--yes")...)
	require.Equal(t, 1, slots())

	// Two messages that Debezium would have sent, or another group's backlog: they are counted first.
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "t", Payload: []byte("1")}, outbox.Message{Topic: "t", Payload: []byte("2")})
	}))
	_, err = db.Pool.Exec(t.Context(), "SELECT pg_replication_slot_advance('leat_debezium', pg_current_wal_lsn())") // it has sent them
	require.NoError(t, err)
	call(0, "have group default begin now, and leave out 2 messages that it has not sent", with("to-leat", "--dry-run")...)
	call(0, `"leaves_out":2`, with("to-leat", "--dry-run", "--output", "json")...)
	call(0, "start the relay", with("to-leat", "--yes")...)
	call(0, "Would have group default begin now.", with("to-leat", "--dry-run")...)

	call(2, "--connector", "to-leat", "--reason", "no Connect", "--yes", "--connector", filepath.Join("..", "..", "README.md"))
}

// published is an outbox that a connector can read, on a server of its own.
func published(t *testing.T) (*pgoutbox.Outbox, *testenv.Database) {
	t.Helper()
	db := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off", "wal_level": "logical"}}).Database(t)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(t.Context()))
	_, err = db.Pool.Exec(t.Context(), "CREATE PUBLICATION leat FOR TABLE leat.outbox WITH (publish = 'insert', publish_via_partition_root = true)")
	require.NoError(t, err)
	return ob, db
}
