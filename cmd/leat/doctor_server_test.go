package main_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
)

// Rows that are old: the counters of the cluster are set forward, as years of work would, and
// autovacuum has no time to notice.
//
//leat:level 4
func TestDoctor_Wraparound(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"autovacuum_naptime": "2147483"}})
	o := newSession(t, server.Database(t).URL)
	require.Equal(t, doctor.OK, o.verdict("vacuum.wraparound", "").Verdict)
	for _, old := range []struct {
		millions int64
		want     doctor.Verdict
	}{{1200, doctor.Warn}, {1800, doctor.Fail}} {
		server.Stop("fast")
		server.Age(old.millions * 1_000_000)
		server.Start()
		require.Equal(t, old.want, o.verdict("vacuum.wraparound", "database template1").Verdict, old.millions)
	}
}

// A server that follows another one.
//
//leat:level 4
func TestDoctor_Standby(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{})
	o := newSession(t, server.Database(t).URL)
	require.Equal(t, doctor.OK, o.verdict("server.standby", "").Verdict)
	server.Stop("fast")
	server.BecomeStandby()
	server.Start()
	require.Equal(t, doctor.Fail, o.verdict("server.standby", "is a standby").Verdict)
}

// A splitter before a primary and a standby.
func TestDoctor_Splitter(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{})
	standby := server.Standby(t)
	address, err := url.Parse(server.Database(t).URL)
	require.NoError(t, err)
	standby.Pause() // with the database
	address.Host = faultnet.Splitter{Primary: server.Address(), Standby: standby.Address(), Away: faultnet.ByFunctions}.Listen(t)
	address.RawQuery = "sslmode=disable&default_query_exec_mode=cache_describe"
	o := newSession(t, address.String())
	require.Equal(t, doctor.Warn, o.verdict("server.standby", "in 10 sessions of 10").Verdict)
}

// A database in another encoding.
//
//leat:level 4
func TestDoctor_Encoding(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{})
	db := server.Database(t)
	require.Equal(t, doctor.OK, newSession(t, db.URL).verdict("server.encoding", "").Verdict)
	_, err := db.Pool.Exec(t.Context(), "CREATE DATABASE old TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
	require.NoError(t, err)
	address, err := url.Parse(db.URL)
	require.NoError(t, err)
	address.Path = "/old"
	o := newSession(t, address.String())
	require.Equal(t, doctor.Fail, o.verdict("server.encoding", "LATIN1").Verdict)
	require.Equal(t, doctor.OK, o.verdict("server.version", "PostgreSQL").Verdict, "as the server says it")
}

// A pooler in transaction mode swallows notifications, and plans depend on statistics.
//
//leat:level 2
func TestDoctor_Pooler(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	direct := newSession(t, s.URL)
	pooled := newSession(t, testenv.PgBouncer(t, s.Database, testenv.PoolTransaction).URL)
	inSession := newSession(t, testenv.PgBouncer(t, s.Database, testenv.PoolSession).URL)
	_, err := s.Pool.Exec(t.Context(), "ALTER TABLE leat.outbox_p1 SET (autovacuum_enabled = off)")
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), "INSERT INTO leat.outbox (id, shard, topic, payload) SELECT gen_random_uuid(), 0, 'orders', '' FROM generate_series(1, 2000)")
	require.NoError(t, err)
	for _, well := range []*session{direct, inSession} {
		require.Equal(t, doctor.Finding{Check: "server.pooler", Verdict: doctor.OK}, well.verdict("server.pooler", ""))
	}
	require.Equal(t, doctor.Warn, pooled.verdict("server.pooler", "transaction mode").Verdict)
	require.Equal(t, doctor.OK, direct.verdict("vacuum.statistics", "").Verdict)
	require.Eventually(t, func() bool {
		found, _ := pooled.examined("--only", "vacuum.statistics")
		return found[0].Verdict == doctor.Warn
	}, patience, patience/1000)
	_, err = s.Pool.Exec(t.Context(), "ANALYZE leat.outbox_p1")
	require.NoError(t, err)
	require.Equal(t, doctor.OK, pooled.verdict("vacuum.statistics", "").Verdict)
}

// A clock that is off: the server's, as far as this database tells it.
func TestDoctor_Clock(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	require.Equal(t, doctor.OK, newSession(t, s.URL).verdict("server.clock", "").Verdict)
	_, err := s.Pool.Exec(t.Context(), `ALTER FUNCTION pg_catalog.clock_timestamp() RENAME TO clock_that_is_right;
		CREATE FUNCTION pg_catalog.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT pg_catalog.clock_that_is_right() - current_setting('off.by')::interval $$`)
	require.NoError(t, err)
	for by, want := range map[string]doctor.Verdict{"700ms": doctor.Warn, "90s": doctor.Fail, "-90s": doctor.Fail} {
		address, err := url.Parse(s.URL)
		require.NoError(t, err)
		query := address.Query()
		query.Set("options", "-c off.by="+by)
		address.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
		require.Equal(t, want, newSession(t, address.String()).verdict("server.clock", "ahead of the database").Verdict, by)
	}
}

// What loses commits in a crash: fsync off, and synchronous_commit off for one database.
//
//leat:level 4
func TestDoctor_Durability(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off"}})
	db := server.Database(t)
	o := newSession(t, db.URL)
	found := o.verdict("server.durability", "fsync is off")
	require.Equal(t, doctor.Fail, found.Verdict)
	require.Contains(t, found.Advice, "leat.durable_storage")
	elsewhere, err := url.Parse(db.URL)
	require.NoError(t, err)
	elsewhere.RawQuery += "&options=-c%20leat.durable_storage%3Don"
	require.Equal(t, doctor.OK, newSession(t, elsewhere.String()).verdict("server.durability", "fsync is off").Verdict, "it is durable by other means")
	_, err = db.Pool.Exec(t.Context(), `ALTER DATABASE "`+db.Name+`" SET synchronous_commit = off`)
	require.NoError(t, err)
	require.Equal(t, doctor.Fail, o.verdict("server.durability", "synchronous_commit is off").Verdict)
}

// A replication slot whose log the server has thrown away.
//
//leat:level 4
func TestDoctor_LostSlot(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{
		"max_slot_wal_keep_size": "1MB", "max_wal_size": "32MB", "min_wal_size": "32MB", "wal_keep_size": "0",
	}})
	db := server.Database(t)
	o := newSession(t, db.URL)
	_, err := db.Pool.Exec(t.Context(), "SELECT pg_create_physical_replication_slot('gone', true)")
	require.NoError(t, err)
	require.Equal(t, doctor.Warn, o.verdict("holders.replication_slots", "gone").Verdict, "it keeps log for nobody")
	for range 8 {
		for _, step := range []string{"SELECT pg_logical_emit_message(false, 'leat', 'a byte')", "SELECT pg_switch_wal()", "CHECKPOINT"} {
			_, err := db.Pool.Exec(t.Context(), step)
			require.NoError(t, err)
		}
	}
	require.Equal(t, doctor.Fail, o.verdict("holders.replication_slots", "gone").Verdict)
}
