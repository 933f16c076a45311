package pgoutbox_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// tailCheck: a publication that would not deliver all rows unchanged is refused, with the reason.
func tailCheck(t *testing.T, server *testenv.PostgresServer) {
	t.Helper()
	db := server.Database(t, migrated())
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	source := sourceOf(t, ob, pgoutbox.SourceConfig{Tail: &pgoutbox.TailConfig{Publication: "p"}})
	number, _, _ := strings.Cut(server.Version(), ".")
	major, err := strconv.Atoi(number)
	require.NoError(t, err)
	exec(t, db, "CREATE TABLE other (id int PRIMARY KEY)")

	require.ErrorContains(t, pgoutbox.CheckTail(t.Context(), source), "there is no publication of this name")
	const options = " WITH (publish = 'insert', publish_via_partition_root = true)"
	for _, c := range []struct {
		publication, says string
		since             int // major version
	}{
		{"FOR TABLE leat.outbox WITH (publish = 'update, delete, truncate', publish_via_partition_root = true)", "does not publish inserts", 0},
		{"FOR TABLE leat.outbox WITH (publish = 'insert')", "without publish_via_partition_root", 0},
		{"FOR TABLE other" + options, "does not publish the table", 0},
		{"FOR TABLE leat.outbox_p1" + options, "does not publish the table", 0},
		{"FOR TABLE leat.outbox WHERE (seq > 5)" + options, "filters rows or columns", 15},
		{"FOR TABLE leat.outbox (seq, id, topic)" + options, "filters rows or columns", 15},
		{"FOR TABLE other, leat.outbox" + options, "", 0},
		{"FOR ALL TABLES" + options, "", 0},
	} {
		if c.since > major {
			continue
		}
		exec(t, db, "CREATE PUBLICATION p "+c.publication)
		err := pgoutbox.CheckTail(t.Context(), source)
		if c.says == "" {
			require.NoError(t, err, c.publication)
		} else {
			require.ErrorContains(t, err, c.says, c.publication)
		}
		exec(t, db, "DROP PUBLICATION p")
	}
}

// TestTail_CheckOnAStandby: a server that cannot be written to is refused.
//
//leat:level 4
func TestTail_CheckOnAStandby(t *testing.T) {
	t.Parallel()
	server := logical(t)
	ob, db := tailed(t, server)
	source := sourceOf(t, ob, pgoutbox.SourceConfig{Tail: &pgoutbox.TailConfig{}})
	require.NoError(t, pgoutbox.CheckTail(t.Context(), source))
	signal := filepath.Join(query1[string](t, db, "SHOW data_directory"), "standby.signal")
	server.Stop("fast")
	db.Pool.Reset()
	require.NoError(t, os.WriteFile(signal, nil, 0o600))
	server.Start()
	require.ErrorContains(t, pgoutbox.CheckTail(t.Context(), source), "the server is a standby")
}

// TestTail_SlotsInUse: a relay works without its tail until a replication slot is free.
//
//leat:level 4
func TestTail_SlotsInUse(t *testing.T) {
	t.Parallel()
	ob, db := tailed(t, testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{
		"fsync": "off", "wal_level": "logical", "max_replication_slots": "1",
	}}))
	exec(t, db, "SELECT pg_create_logical_replication_slot('taken', 'pgoutput')")
	s := follow(t, ob, pgoutbox.TailConfig{Look: tailLook})
	require.ErrorContains(t, s.events.next(t).Err, "all replication slots are in use")
	foreign(t, ob, db, "a", "a1")
	page := s.read()
	require.False(t, page.Early)
	require.Equal(t, []string{"a1"}, payloads(page.Records))
	s.settle(page)
	exec(t, db, "SELECT pg_drop_replication_slot('taken')")
	s.awaitFollows("all replication slots are in use")
	s.join()
}

// tailRole: a role that may only replicate is enough for the tail, which connects as that role. If the
// role may not, that is logged.
func tailRole(t *testing.T, server *testenv.PostgresServer) {
	t.Helper()
	ob, db := tailed(t, server)
	role := "leat_test_" + uuid.NewString()
	exec(t, db, `CREATE ROLE "`+role+`" LOGIN`)
	address, err := url.Parse(db.URL)
	require.NoError(t, err)
	address.User = url.User(role)
	s := follow(t, ob, pgoutbox.TailConfig{URL: address.String(), Look: tailLook})
	event := s.events.next(t)
	require.False(t, event.Follows)
	require.ErrorContains(t, event.Err, pgerr.InsufficientPrivilege) // the versions word it differently
	foreign(t, ob, db, "a", "a1")
	page := s.read()
	require.Equal(t, []string{"a1"}, payloads(page.Records))
	s.settle(page)

	exec(t, db, `ALTER ROLE "`+role+`" REPLICATION`)
	s.awaitFollows("")
	s.join()
	require.Equal(t, role, query1[string](t, db, "SELECT usename FROM pg_stat_replication WHERE application_name LIKE 'leat tail%' AND usename = $1", role))
	foreign(t, ob, db, "a", "a2")
	require.Equal(t, []string{"a2"}, payloads(s.awaitPolled().Records))
}
