package pgoutbox_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestCount_Server counts on a server of its own: transactions of other tests would make a relay probe,
// and write WAL.
//
//leat:level 4
func TestCount_Server(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a server")
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{
		"fsync": "off", "full_page_writes": "off", "autovacuum": "off", "checkpoint_timeout": "1d", "bgwriter_lru_maxpages": "0",
	}})
	trips, wal := server.Database(t, migrated()), server.Database(t, migrated())
	t.Run("RoundTrips", func(t *testing.T) { countRoundTrips(t, trips) }) //nolint:paralleltest // one after the other, see above
	t.Run("WAL", func(t *testing.T) { countWAL(t, wal) })                 //nolint:paralleltest // see above
}

// countWAL measures the WAL bytes per small message, commits included, without checkpoints and full-page
// images. They vary by a thousandth between runs, so the bounds are 5 % above them. It guards what a
// message costs replicas, backups and disks: one more index, one more column, or a position that is stored
// more often than once per page.
func countWAL(t *testing.T, db *testenv.Database) {
	t.Helper()
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	s := acquire(t, ob, "")

	const single, many, pages = 200, 1000, 10
	payload := strings.Repeat("x", 16)
	names := make([]string, many)
	for i := range names {
		names[i] = payload
	}
	wal := func(messages int, do func()) float64 {
		const position = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
		before := query1[int64](t, db, position)
		do()
		return float64(query1[int64](t, db, position)-before) / float64(messages)
	}
	put(t, ob, "k", payload)
	require.Len(t, readAll(t, s, many), 1)
	for _, c := range []struct {
		name     string
		messages int
		do       func()
		most     float64
	}{
		{"enqueue, a message a transaction", single, func() {
			for range single {
				put(t, ob, "k", payload)
			}
		}, 408},
		{"enqueue, a thousand messages a transaction", many, func() { put(t, ob, "k", names...) }, 372},
		{"relay, a page", pages, func() { require.Len(t, readAll(t, s, (single+many)/pages), single+many) }, 160},
		{"enqueue and relay, a message at a time", single, func() {
			for range single {
				put(t, ob, "k", payload)
				require.Len(t, readAll(t, s, many), 1)
			}
		}, 960},
	} {
		n := wal(c.messages, c.do)
		t.Logf("%s: %.1f bytes", c.name, n)
		require.LessOrEqual(t, n, c.most, c.name)
	}
}
