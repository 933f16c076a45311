package sqloutbox_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// killed is a MariaDB server whose commits can be visible for a long time before they are durable, which
// otherwise lasts only a moment.
type killed struct {
	*testenv.PrivateMySQLServer

	look *sql.DB
}

// durable sets whether a commit waits until its log is written. Setting it also writes the log of all
// commits so far.
func (k killed) durable(t *testing.T, on bool) {
	t.Helper()
	_, err := k.look.ExecContext(t.Context(), "SET GLOBAL innodb_flush_log_at_trx_commit = ?", on)
	require.NoError(t, err)
}

// TestO2_KillThatReusesNumbers kills a server that has shown rows before they were durable, so that their
// numbers are given out again. Rows that were read through the fence still exist. Rows that were read
// without it do not; a session that has read them reads no further, and its successor reads the rows that
// have these numbers now.
//
// The server may write its log for reasons of its own, and then nothing is lost: such a kill does not
// count.
//
//leat:level 4
func TestO2_KillThatReusesNumbers(t *testing.T) {
	t.Parallel()
	server := testenv.PrivateMariaDB(t, map[string]string{
		"innodb-flush-log-at-timeout": "2700", "innodb-stats-auto-recalc": "0", "innodb-stats-persistent": "0",
	})
	for range 5 {
		if killThatReusesNumbers(t, server) {
			return
		}
		t.Log("the server has kept what it had not promised to keep")
	}
	require.Fail(t, "no kill took a row back")
}

// killThatReusesNumbers reports whether the kill took rows back.
func killThatReusesNumbers(t *testing.T, server *testenv.PrivateMySQLServer) bool {
	t.Helper()
	config := sqltest.NewMySQLDatabase(t, server.URL)
	k := killed{server, sqltest.OpenMySQL(t, config, nil)}
	ob := newOutbox(t, k.look, outbox.MariaDB)
	fencedOutbox := newOutbox(t, sqltest.OpenHooked(t, config, func(_ context.Context, query string) error {
		if strings.Contains(query, "SET rev = ?") {
			k.durable(t, true) // as commits are; that of the fence is the first
		}
		return nil
	}), outbox.MariaDB)
	start := sqloutbox.SourceConfig{Start: driver.Start{Oldest: true}}
	unfenced := acquire(t, ob, start)
	start.Group = "fenced"
	fenced := acquire(t, fencedOutbox, start)

	k.durable(t, false)
	commit(t, ob, message("k", "kept"))
	require.Equal(t, []string{"kept"}, payloads(readPage(t, fenced)))
	k.durable(t, false)
	commit(t, ob, message("k", "lost-1"), message("k", "lost-2"))
	page := readPage(t, unfenced)
	require.Equal(t, []string{"kept", "lost-1", "lost-2"}, payloads(page))
	require.NoError(t, unfenced.Advance(t.Context(), page, len(page.Records)))

	server.Kill()
	server.Start()
	var kept bool
	require.NoError(t, k.look.QueryRowContext(t.Context(), "SELECT EXISTS (SELECT * FROM leat_outbox WHERE payload = 'lost-2')").Scan(&kept))
	if kept {
		_, _ = unfenced.Release(t.Context()), fenced.Release(t.Context()) // of connections that are gone
		return false
	}
	commit(t, ob, message("k", "new-1"), message("k", "new-2"))
	_, err := unfenced.Read(t.Context(), 10)
	require.Error(t, err, "it knows numbers that are others' now")
	require.Error(t, unfenced.Advance(t.Context(), page, 1))
	for _, s := range []driver.Session{unfenced, fenced} {
		require.NoError(t, s.Release(t.Context()))
	}
	after := acquire(t, ob, sqloutbox.SourceConfig{Start: driver.Start{Oldest: true}})
	now := readPage(t, after)
	require.Equal(t, []string{"kept", "new-1", "new-2"}, payloads(now))
	require.Equal(t, numbers(page.Records), numbers(now.Records), "the numbers are given out again")
	return true
}

func readPage(t *testing.T, s driver.Session) driver.Page {
	t.Helper()
	page, err := s.Read(t.Context(), 10)
	require.NoError(t, err)
	return page
}

func numbers(records []outbox.Record) (all []int64) {
	for i := range records {
		all = append(all, records[i].Seq)
	}
	return all
}
