package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// The log is judged by the bounds that its maintenance has, which the flags say.
func TestDoctor_Log(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := newSession(t, s.URL)
	is := func(want doctor.Verdict, check, text string, flags ...string) {
		t.Helper()
		found, _ := o.examined(append([]string{"--only", check}, flags...)...)
		require.Len(t, found, 1, found)
		require.Equal(t, want, found[0].Verdict, found[0])
		require.Contains(t, found[0].Text, text)
	}
	is(doctor.OK, "outbox.size", "", "--outbox-max-bytes", "1TiB") // it is empty
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO leat.outbox (created_at, id, shard, topic, payload)
		SELECT now() - interval '1 day', gen_random_uuid(), 0, 'orders', repeat('x', 1000)::bytea FROM generate_series(1, 5000)`)
	require.NoError(t, err)
	is(doctor.OK, "outbox.size", "")
	is(doctor.OK, "outbox.size", "", "--outbox-max-bytes", "1TiB")
	is(doctor.Warn, "outbox.size", "the oldest messages go, after 24h00m", "--outbox-max-bytes", "1MiB")
	is(doctor.Warn, "outbox.size", "will have 20.0 MiB in ", "--outbox-max-bytes", "20MiB")
	is(doctor.OK, "outbox.size", "", "--outbox-max-bytes", "20MiB", "--outbox-retention", "1d")
	is(doctor.Warn, "outbox.size", "not after never", "--outbox-max-bytes", "1GiB", "--outbox-retention", "0s")

	_, err = s.Pool.Exec(t.Context(), "SELECT setval(pg_get_serial_sequence('leat.outbox', 'seq'), 100000000000)")
	require.NoError(t, err)
	is(doctor.Fail, "outbox.ranges", "no range is ahead")
	s.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
	found, _ := o.examined("--only", "outbox.ranges", "--max-tail-scan", "4KiB")
	require.Len(t, found, 2)
	require.Contains(t, found[1].Text, "the open-ended range is in use and has ")
	require.Equal(t, doctor.Fail, found[1].Verdict)

	for flag, value := range map[string]string{"--outbox-max-bytes": "many", "--max-tail-scan": "-1"} {
		r := o.leat("doctor", flag+"="+value)
		require.Equal(t, 2, r.code)
		require.Contains(t, r.err, flag)
		require.Contains(t, r.err, value)
	}
}

// A reader that is there, and confirms nothing, keeps rows as one that is gone.
//
//leat:level 4
func TestDoctor_SlotThatLags(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"wal_level": "logical", "synchronous_commit": "off"}})
	db := server.Database(t)
	o := newSession(t, db.URL)
	_, err := db.Pool.Exec(t.Context(), "SELECT pg_create_logical_replication_slot('slow', 'pgoutput')")
	require.NoError(t, err)
	cfg, err := pgconn.ParseConfig(db.URL)
	require.NoError(t, err)
	cfg.RuntimeParams["replication"] = "database"
	reader, err := pgconn.ConnectConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, reader.Conn().Close()) }()
	reader.Frontend().SendQuery(&pgproto3.Query{String: "START_REPLICATION SLOT slow LOGICAL 0/0 (proto_version '1', publication_names 'none')"})
	require.NoError(t, reader.Frontend().Flush())
	answer, err := reader.ReceiveMessage(t.Context())
	require.NoError(t, err)
	require.IsType(t, &pgproto3.CopyBothResponse{}, answer)
	require.Equal(t, doctor.OK, o.verdict("holders.replication_slots", "").Verdict)
	_, err = db.Pool.Exec(t.Context(), "DO $$ BEGIN FOR n IN 1..1000001 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$")
	require.NoError(t, err)
	found := o.verdict("holders.replication_slots", `"slow": active true`)
	require.Equal(t, doctor.Warn, found.Verdict)
	require.Contains(t, found.Text, "and the rows of the last 1000")
	require.Contains(t, found.Advice, "its reader")
}

// To set the sequence of a log forward whose rows come from another server would hide that
// they do.
//
//leat:level 2
func TestDoctor_LogOfASubscription(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off", "wal_level": "logical"}})
	from, to := newShopIn(t, server.Database(t, migrated())), newShopIn(t, server.Database(t, migrated()))
	for _, sql := range []string{"CREATE PUBLICATION leat FOR TABLE leat.outbox", "SELECT pg_create_logical_replication_slot('target', 'pgoutput')"} {
		_, err := from.Pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	_, err := to.Pool.Exec(t.Context(), "CREATE SUBSCRIPTION leat CONNECTION '"+from.URL+"' PUBLICATION leat WITH (create_slot = false, slot_name = 'target', copy_data = false)")
	require.NoError(t, err)
	from.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
	require.Eventually(t, func() bool {
		var rows int
		err := to.Pool.QueryRow(t.Context(), "SELECT count(*) FROM leat.outbox").Scan(&rows)
		return err == nil && rows == 1
	}, patience, 10*time.Millisecond)
	blue := newSession(t, from.URL)
	require.Equal(t, doctor.Warn, blue.verdict("schema.shape", "publishes ranges of leat.outbox under their own names").Verdict)
	require.Equal(t, doctor.Warn, blue.verdict("schema.shape", "publication leat has \"leat\".\"outbox\" and is without leat.outbox_audit, ").Verdict)
	_, err = from.Pool.Exec(t.Context(), "ALTER PUBLICATION leat SET (publish = 'insert', publish_via_partition_root = true)")
	require.NoError(t, err)
	require.Equal(t, doctor.OK, blue.verdict("schema.shape", "").Verdict, "a stream of messages")
	o := newSession(t, to.URL)
	require.Equal(t, doctor.OK, o.verdict("schema.shape", "").Verdict)
	for _, sql := range []string{
		"ALTER TABLE leat.outbox DETACH PARTITION leat.outbox_tail",
		"CREATE TABLE leat.outbox_p5 PARTITION OF leat.outbox FOR VALUES FROM (40000001) TO (50000001)",
		"ALTER TABLE leat.outbox ATTACH PARTITION leat.outbox_tail FOR VALUES FROM (50000001) TO (MAXVALUE)",
	} {
		_, err := to.Pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	require.Contains(t, o.verdict("schema.shape", "subscription leat does not know range leat.outbox_p5").Advice, "REFRESH PUBLICATION")
	found := o.verdict("sequence.value", "the target of a logical replication")
	require.Equal(t, doctor.Fail, found.Verdict)
	require.NotContains(t, found.Advice, "setval")
	_, err = to.Pool.Exec(t.Context(), "ALTER SUBSCRIPTION leat DISABLE")
	require.NoError(t, err)
	require.Equal(t, doctor.Warn, o.verdict("schema.shape", "subscription leat is disabled").Verdict)
	for _, sql := range []string{"ALTER SUBSCRIPTION leat SET (slot_name = NONE)", "DROP SUBSCRIPTION leat"} {
		_, err := to.Pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	require.Contains(t, o.verdict("sequence.value", "behind the log").Advice, "setval")
}

// A schema that was renamed takes its tables along. Functions and views that have its name in texts
// follow by the statement that doctor shows; until then function callers would lock other keys than Go.
func TestDoctor_SchemaThatWasRenamed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.trouble(t)
	_, err := s.Pool.Exec(t.Context(), `ALTER SCHEMA leat RENAME TO "Shop"`)
	require.NoError(t, err)
	o := newSession(t, s.URL)
	require.Contains(t, o.verdict("schema.outbox", `is not there; the database has "Shop".outbox`).Advice, "begin an empty one beside it")
	dry := o.leat("migrate", "up", "--component", "outbox", "--dry-run")
	require.Zero(t, dry.code)
	require.Contains(t, dry.err, `The database has an outbox as "Shop".outbox.`)
	o.env = append(o.env, "LEAT_SCHEMA=Shop")
	found := o.verdict("schema.shape", `functions and views of leat look for their tables in schema "leat"`)
	_, statement, ok := strings.Cut(found.Advice, "stopped: ")
	require.True(t, ok, found.Advice)
	renamed, err := pgoutbox.New(s.Pool, pgoutbox.Config{Schema: "Shop"})
	require.NoError(t, err)
	m, err := pgoutbox.NewMaintenance(renamed, pgoutbox.MaintenanceConfig{})
	require.NoError(t, err)
	_, err = m.RunOnce(t.Context())
	require.Error(t, err, "the control: they have not followed")
	_, err = s.Pool.Exec(t.Context(), statement)
	require.NoError(t, err, statement)
	require.Equal(t, doctor.OK, o.verdict("schema.shape", "").Verdict)
	_, err = m.RunOnce(t.Context())
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), `SELECT "Shop".outbox_enqueue('orders', 'by a function', 'order-1')`)
	require.NoError(t, err)
	stats, err := renamed.Admin().Stats(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, stats.Groups)
}
