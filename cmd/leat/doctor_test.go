package main_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// illness is a bad state, what brings it about, and what ends it.
type illness struct {
	check   string
	verdict doctor.Verdict
	text    string
	bring   []string
	end     []string
}

// Statements of an illness that mean more than what they send.
const (
	// reload has the server read its settings, and waits until new sessions have them.
	reload = "SELECT pg_reload_conf()"
	// hangUp ends the session, which counts what it has done: before PostgreSQL 15 that is the
	// only way to have it counted at once. It waits until it was.
	hangUp = "hang up"
)

// Those that are brought about by statements alone, in one session.
func illnesses() []illness {
	return []illness{
		{
			"schema.outbox", doctor.Fail, "is not there",
			[]string{"ALTER TABLE leat.outbox_migrations RENAME TO kept", "CREATE TABLE leat.outbox_migrations AS SELECT * FROM leat.kept WHERE false"},
			[]string{"DROP TABLE leat.outbox_migrations", "ALTER TABLE leat.kept RENAME TO outbox_migrations"},
		},
		{
			"schema.outbox", doctor.Warn, "knows",
			[]string{"INSERT INTO leat.outbox_migrations SELECT (jsonb_populate_record(m, '{\"version\": 1000}')).* FROM leat.outbox_migrations m WHERE version = 1"},
			[]string{"DELETE FROM leat.outbox_migrations WHERE version = 1000"},
		},
		{
			"server.connections", doctor.Unknown, "outbox_groups",
			[]string{"ALTER TABLE leat.outbox_groups RENAME TO away"},
			[]string{"ALTER TABLE leat.away RENAME TO outbox_groups"},
		},
		{"server.durability", doctor.Fail, "synchronous_commit", []string{"ALTER ROLE CURRENT_USER SET synchronous_commit = off"}, []string{"ALTER ROLE CURRENT_USER RESET synchronous_commit"}},
		{"server.durability", doctor.Fail, "synchronous_commit is False", []string{"ALTER ROLE CURRENT_USER SET synchronous_commit = 'False'"}, []string{"ALTER ROLE CURRENT_USER RESET synchronous_commit"}},
		{"server.durability", doctor.Fail, "synchronous_commit is no", []string{"ALTER ROLE CURRENT_USER SET synchronous_commit = no"}, []string{"ALTER ROLE CURRENT_USER RESET synchronous_commit"}},
		{"server.durability", doctor.Fail, "synchronous_commit is 0", []string{"ALTER ROLE CURRENT_USER SET synchronous_commit = 0"}, []string{"ALTER ROLE CURRENT_USER RESET synchronous_commit"}},
		{"server.connections", doctor.Warn, "connections are left", []string{"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I CONNECTION LIMIT 4', current_database()); END $$"}, []string{"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I CONNECTION LIMIT -1', current_database()); END $$"}},
		{"sequence.value", doctor.Fail, "behind the log", []string{"SELECT setval(pg_get_serial_sequence('leat.outbox', 'seq'), 1)"}, []string{"SELECT setval(pg_get_serial_sequence('leat.outbox', 'seq'), 3)"}},
		{
			"sequence.value", doctor.Fail, "leat.outbox_audit_no_seq is at 1, behind number 99 in leat.outbox_audit; leat.outbox_delayed_no_seq is at 1, behind number 7",
			[]string{
				"INSERT INTO leat.outbox_delayed (not_before, no, id, shard, topic, payload) OVERRIDING SYSTEM VALUE VALUES (now() + interval '1 hour', 7, gen_random_uuid(), 0, 'orders', '')",
				"INSERT INTO leat.outbox_audit (no, action, actor) OVERRIDING SYSTEM VALUE VALUES (99, 'drop', 'ann')",
				"SELECT setval('leat.outbox_delayed_no_seq', 1), setval('leat.outbox_audit_no_seq', 1)",
			},
			[]string{"DELETE FROM leat.outbox_delayed WHERE no = 7", "DELETE FROM leat.outbox_audit WHERE no = 99", "SELECT setval('leat.outbox_audit_no_seq', 100)"},
		},
		{"holders.prepared", doctor.Fail, `"forgotten"`, []string{"BEGIN", "SELECT pg_current_xact_id()", "PREPARE TRANSACTION 'forgotten'"}, []string{"ROLLBACK PREPARED 'forgotten'"}},
		{"holders.transactions", doctor.Warn, "has had a transaction open", []string{"BEGIN", "SELECT pg_current_xact_id()"}, []string{"ROLLBACK"}},
		{"holders.replication_slots", doctor.Warn, `"gone"`, []string{"SELECT pg_create_physical_replication_slot('gone', true)"}, []string{"SELECT pg_drop_replication_slot('gone')"}},
		{"outbox.positions", doctor.Fail, "another database cluster", []string{"UPDATE leat.outbox_positions SET system_identifier = system_identifier + 1"}, []string{"UPDATE leat.outbox_positions SET system_identifier = system_identifier - 1"}},
		{"outbox.groups", doctor.Warn, "is paused", []string{"UPDATE leat.outbox_groups SET paused = '{orders}'"}, []string{"UPDATE leat.outbox_groups SET paused = NULL"}},
		{"outbox.groups", doctor.Warn, "from 1 to 4", []string{"UPDATE leat.outbox_groups SET next_slots = 4"}, []string{"UPDATE leat.outbox_groups SET next_slots = NULL"}},
		{"outbox.groups", doctor.Warn, "no relay lives", []string{"UPDATE leat.outbox_leases SET lease_until = clock_timestamp()", "UPDATE leat.outbox_members SET seen_until = clock_timestamp()"}, []string{"UPDATE leat.outbox_leases SET lease_until = clock_timestamp() + interval '1 hour'", "UPDATE leat.outbox_members SET seen_until = clock_timestamp() + interval '1 hour'"}},
		{"schema.shape", doctor.Warn, "outbox_held_id_idx of leat.outbox_held is invalid", []string{"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'leat.outbox_held_id_idx'::regclass"}, []string{"REINDEX INDEX CONCURRENTLY leat.outbox_held_id_idx"}},
		{"schema.shape", doctor.Warn, "has a DEFAULT partition", []string{"CREATE TABLE leat.outbox_rest PARTITION OF leat.outbox DEFAULT"}, []string{"DROP TABLE leat.outbox_rest"}},
		{"vacuum.autovacuum", doctor.Warn, "autovacuum is off", []string{"ALTER SYSTEM SET autovacuum = off", reload}, []string{"ALTER SYSTEM RESET autovacuum", reload}},
		{"vacuum.autovacuum", doctor.Warn, "leat.outbox_positions has autovacuum_enabled=OFF", []string{"ALTER TABLE leat.outbox_positions SET (autovacuum_enabled = 'OFF')"}, []string{"ALTER TABLE leat.outbox_positions RESET (autovacuum_enabled)"}},
		{"outbox.lag", doctor.Warn, "a message waits for", []string{"INSERT INTO leat.outbox (created_at, id, shard, topic, payload) VALUES (now() - interval '1 hour', gen_random_uuid(), 0, 'orders', '')"}, []string{"DELETE FROM leat.outbox WHERE seq > 3"}},
		{"outbox.delayed", doctor.Fail, "is due since", []string{"INSERT INTO leat.outbox_delayed (not_before, id, shard, topic, payload) VALUES (now() - interval '1 hour', gen_random_uuid(), 0, 'orders', '')"}, []string{"DELETE FROM leat.outbox_delayed"}},
		{"outbox.replicas", doctor.Warn, "one relay alone", []string{"DELETE FROM leat.outbox_members WHERE member = 'web-2'"}, []string{"INSERT INTO leat.outbox_members (relay_group, member, slots, seen_until) VALUES ('default', 'web-2', 1, now() + interval '1 hour')"}},
		{"outbox.held", doctor.Warn, "has set 90,000 records aside", []string{"INSERT INTO leat.outbox_held (relay_group, seq, state, epoch, created_at, id, shard, topic, payload) SELECT 'default', 1000 + n, 'parked', 1, now(), gen_random_uuid(), 0, 'orders', '' FROM generate_series(1, 90000) n", "ANALYZE leat.outbox_held"}, []string{"TRUNCATE leat.outbox_held"}},
		{"vacuum.dead_rows", doctor.Warn, "leat.outbox_leases has 2000", []string{"ALTER TABLE leat.outbox_leases SET (autovacuum_enabled = off)", "INSERT INTO leat.outbox_leases (relay_group, slot) SELECT 'gone-' || n, 0 FROM generate_series(1, 20000) n", "DELETE FROM leat.outbox_leases WHERE starts_with(relay_group, 'gone-')", hangUp}, []string{"VACUUM leat.outbox_leases", "ALTER TABLE leat.outbox_leases RESET (autovacuum_enabled)"}},
		{"outbox.ranges", doctor.Fail, "no range is ahead", []string{"SELECT setval(pg_get_serial_sequence('leat.outbox', 'seq'), 100000000000)"}, []string{"SELECT setval(pg_get_serial_sequence('leat.outbox', 'seq'), 3)"}},
	}
}

// illnessesOfSequence make positions unusable, so they come last.
func illnessesOfSequence() []illness {
	return []illness{
		{"sequence.definition", doctor.Fail, "caches 10", []string{"ALTER TABLE leat.outbox ALTER seq SET CACHE 10"}, []string{"ALTER TABLE leat.outbox ALTER seq SET CACHE 1"}},
		{"sequence.definition", doctor.Fail, "cycles", []string{"ALTER TABLE leat.outbox ALTER seq SET CYCLE"}, []string{"ALTER TABLE leat.outbox ALTER seq SET NO CYCLE"}},
	}
}

// Each bad state is told while it lasts, and not before it and behind it. The server is
// the test's own, since some of them are about the whole server.
//
//leat:level 4
func TestDoctor(t *testing.T) {
	t.Parallel()
	s := newHealthyShop(t)
	o := newSession(t, s.URL)
	s.endure(t, o, illnesses())
	s.examineDetached(t, o)
	s.examineParked(t, o)
	s.examineDurability(t, o)
	s.examineRights(t, o)
	s.endure(t, o, illnessesOfSequence())
}

// endure goes through all, one after the other.
func (s *shop) endure(t *testing.T, o *session, all []illness) {
	t.Helper()
	conn := s.Connect(t)
	for _, ill := range all {
		well := o.verdict(ill.check, "")
		require.Equal(t, doctor.OK, well.Verdict, "before %q: %+v", ill.bring, well)
		conn = s.suffer(t, conn, ill.bring)
		found := o.verdict(ill.check, ill.text)
		require.Equal(t, ill.verdict, found.Verdict, "%q: %+v", ill.bring, found)
		require.True(t, found.Advice != "" || found.Verdict == doctor.Unknown, found)
		conn = s.suffer(t, conn, ill.end)
		require.Equal(t, doctor.OK, o.verdict(ill.check, "").Verdict, "behind %q", ill.bring)
	}
}

// suffer runs statements, and returns the connection to go on with.
func (s *shop) suffer(t *testing.T, conn *pgx.Conn, statements []string) *pgx.Conn {
	t.Helper()
	for _, statement := range statements {
		switch statement {
		case reload:
			before := s.asked(t, "SELECT pg_conf_load_time()")
			_, err := conn.Exec(t.Context(), statement)
			require.NoError(t, err, statement)
			require.Eventually(t, func() bool { return s.asked(t, "SELECT pg_conf_load_time()").(time.Time).After(before.(time.Time)) }, time.Minute, time.Millisecond)
		case hangUp:
			require.NoError(t, conn.Close(t.Context()))
			conn = s.Connect(t)
			require.Eventually(t, func() bool {
				return s.asked(t, "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = 'leat.outbox_leases'::regclass").(int64) > 0
			}, time.Minute, 10*time.Millisecond)
		default:
			_, err := conn.Exec(t.Context(), statement)
			require.NoError(t, err, statement)
		}
	}
	return conn
}

// asked is what a new session answers.
func (s *shop) asked(t *testing.T, query string) (value any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	require.NoError(t, conn.QueryRow(t.Context(), query).Scan(&value))
	return value
}

// newHealthyShop has a relay that seems to live, and three records that were sent.
func newHealthyShop(t *testing.T) *shop {
	t.Helper()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{})
	db := server.Database(t)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(t.Context()))
	s := &shop{db, ob}
	s.enqueue(t, placed("m-1", "orders", "order-1", "fine"), placed("m-2", "orders", "order-2", "fine"), placed("m-3", "orders", "order-3", "fine"))
	s.relay(t, "", nothing)
	_, err = db.Pool.Exec(t.Context(), "UPDATE leat.outbox_leases SET lease_until = clock_timestamp() + interval '1 hour', owner = 'web-1'")
	require.NoError(t, err)
	_, err = db.Pool.Exec(t.Context(), "INSERT INTO leat.outbox_members (relay_group, member, slots, seen_until) SELECT 'default', 'web-' || n, 1, now() + interval '1 hour' FROM generate_series(1, 2) n")
	require.NoError(t, err)
	return s
}

// examined are all findings, and the exit status.
func (s *session) examined(args ...string) ([]doctor.Finding, int) {
	s.t.Helper()
	r := s.leat(append([]string{"doctor", "-o", "json", "--long", "1ms"}, args...)...)
	var found struct{ Findings []doctor.Finding }
	require.NoError(s.t, json.Unmarshal([]byte(r.out), &found), "%s%s", r.out, r.err)
	return found.Findings, r.code
}

// verdict is the finding of check whose text has part in it.
func (s *session) verdict(check, part string) doctor.Finding {
	s.t.Helper()
	all, code := s.examined("--only", check)
	for _, f := range all {
		require.Equal(s.t, check, f.Check)
		require.True(s.t, f.Verdict != doctor.Fail || code == 5, "fails with status %d", code)
		if strings.Contains(f.Text, part) {
			return f
		}
	}
	require.Fail(s.t, "not found", "%s, %q: %+v", check, part, all)
	return doctor.Finding{}
}

// A record that is parked, and maintenance that nobody does.
func (s *shop) examineParked(t *testing.T, o *session) {
	t.Helper()
	require.Equal(t, doctor.OK, o.verdict("outbox.parked", "").Verdict)
	_, err := s.Pool.Exec(t.Context(), "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()")
	require.NoError(t, err)
	s.enqueue(t, placed("m-4", "orders", "order-4", "bad"))
	s.relay(t, "", ifBad(errors.New("no")))
	require.Equal(t, doctor.Warn, o.verdict("outbox.parked", "1 parked record").Verdict)
	require.Equal(t, doctor.Warn, o.verdict("outbox.maintenance", "no process").Verdict)
	_, err = s.Pool.Exec(t.Context(), "INSERT INTO leat.outbox_leases (relay_group, slot, owner, epoch, lease_until) VALUES ('_maintenance', 0, 'web-2', 1, clock_timestamp() + interval '1 hour')")
	require.NoError(t, err)
	require.Equal(t, doctor.OK, o.verdict("outbox.maintenance", "").Verdict)
	found, code := o.examined()
	require.Zero(t, code, "warnings alone: %+v", found)
	_, code = o.examined("--strict")
	require.Equal(t, 5, code)
}

// A server that writes halves of pages.
func (s *shop) examineDurability(t *testing.T, o *session) {
	t.Helper()
	_, err := s.Pool.Exec(t.Context(), "ALTER SYSTEM SET full_page_writes = off")
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), reload)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		var setting string
		return s.Pool.QueryRow(t.Context(), "SHOW full_page_writes").Scan(&setting) == nil && setting == "off"
	}, patience, 20*time.Millisecond)
	require.Equal(t, doctor.Fail, o.verdict("server.durability", "full_page_writes is off").Verdict)
}

// A role that does not see others' transactions is told so, and never that all is well.
func (s *shop) examineRights(t *testing.T, o *session) {
	t.Helper()
	_, err := s.Pool.Exec(t.Context(), "CREATE ROLE viewer; GRANT viewer TO CURRENT_USER")
	require.NoError(t, err)
	viewer := newSession(t, s.URL+"&options=-c%20role%3Dviewer")
	require.Equal(t, doctor.OK, o.verdict("holders.transactions", "").Verdict)
	require.Equal(t, doctor.Unknown, viewer.verdict("holders.transactions", "does not see").Verdict)
	require.Equal(t, doctor.Unknown, viewer.verdict("sequence.value", "permission denied").Verdict)
	require.Equal(t, doctor.Unknown, viewer.verdict("outbox.positions", "permission denied").Verdict)
	_, err = s.Pool.Exec(t.Context(), "GRANT USAGE ON SCHEMA leat TO viewer; GRANT SELECT ON leat.outbox TO viewer")
	require.NoError(t, err)
	require.Equal(t, doctor.Unknown, viewer.verdict("sequence.value", "does not see where the sequence is").Verdict)
	_, err = s.Pool.Exec(t.Context(), "GRANT SELECT ON SEQUENCE leat.outbox_seq_seq TO viewer")
	require.NoError(t, err)
	require.Equal(t, doctor.OK, viewer.verdict("sequence.value", "").Verdict)
	s.examineAdvice(t, o)
	_, err = s.Pool.Exec(t.Context(), "GRANT pg_monitor TO viewer")
	require.NoError(t, err)
	require.Equal(t, doctor.OK, viewer.verdict("holders.transactions", "").Verdict)
}

// A range whose detaching was cancelled half-way.
func (s *shop) examineDetached(t *testing.T, o *session) {
	t.Helper()
	require.Equal(t, doctor.OK, o.verdict("schema.shape", "").Verdict)
	reader, err := s.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = reader.Exec(t.Context(), "SELECT FROM leat.outbox LIMIT 1")
	require.NoError(t, err)
	conn := s.Connect(t)
	_, err = conn.Exec(t.Context(), "SET statement_timeout = '300ms'")
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "ALTER TABLE leat.outbox DETACH PARTITION leat.outbox_p3 CONCURRENTLY")
	require.ErrorContains(t, err, "statement timeout")
	require.NoError(t, reader.Rollback(t.Context()))
	require.Equal(t, doctor.Warn, o.verdict("schema.shape", "half detached").Verdict)
	for _, sql := range []string{"RESET statement_timeout", "ALTER TABLE leat.outbox DETACH PARTITION leat.outbox_p3 FINALIZE"} {
		_, err = conn.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	require.Equal(t, doctor.Warn, o.verdict("schema.shape", "range leat.outbox_p3 is detached").Verdict)
	_, err = conn.Exec(t.Context(), "ALTER TABLE leat.outbox ATTACH PARTITION leat.outbox_p3 FOR VALUES FROM (20000001) TO (30000001)")
	require.NoError(t, err)
	require.Equal(t, doctor.OK, o.verdict("schema.shape", "").Verdict)
}

// What is advised for a sequence that is behind never moves one back that is not.
func (s *shop) examineAdvice(t *testing.T, o *session) {
	t.Helper()
	set := func(to int) {
		_, err := s.Pool.Exec(t.Context(), "SELECT setval(pg_get_serial_sequence('leat.outbox', 'seq'), $1)", to)
		require.NoError(t, err)
	}
	set(1)
	advice := o.verdict("sequence.value", "behind the log").Advice
	set(17)
	var last int64
	require.NoError(t, s.Pool.QueryRow(t.Context(), advice).Scan(&last), advice)
	require.EqualValues(t, 17, last)
	set(1)
	require.NoError(t, s.Pool.QueryRow(t.Context(), advice).Scan(&last), advice)
	require.EqualValues(t, 4, last)
}

// A database without a schema, and patterns that match nothing.
func TestDoctor_NotMigrated(t *testing.T) {
	t.Parallel()
	o := newSession(t, newShopWithout(t).URL)
	missing := o.verdict("schema.outbox", "is not there")
	require.Equal(t, doctor.Fail, missing.Verdict)
	require.Contains(t, missing.Advice, "bring leat's tables along")
	require.Equal(t, doctor.OK, o.verdict("schema.inbox", "need not be").Verdict)
	require.Equal(t, doctor.Unknown, o.verdict("outbox.groups", "not migrated").Verdict)
	manual, err := os.ReadFile("../../docs/cli.md")
	require.NoError(t, err)
	found, _ := o.examined("--brokers", "127.0.0.1:1", "--redis", "127.0.0.1:1")
	require.Greater(t, len(found), 40)
	for _, f := range found {
		require.Contains(t, string(manual), "`"+f.Check+"`")
	}
	require.Equal(t, 2, o.leat("doctor", "--only", "nothing").code)
	require.Equal(t, 2, o.leat("doctor", "--only", "[").code)
}
