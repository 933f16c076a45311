package main_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/httpsink"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// A daemon of forty outboxes, with metrics and maintenance, holds few connections while nothing
// happens, and each of its outboxes is still heard at once.
//
//leat:level 4
func TestRun_Connections(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ databases, most int }{
		"one database": {1, 50}, "forty databases": {40, 130},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			idleDaemon(t, c.databases, c.most)
		})
	}
}

func idleDaemon(t *testing.T, databases, most int) {
	t.Helper()
	const outboxes = 40
	var heard atomic.Int64
	endpoint := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
	t.Cleanup(endpoint.Close)
	var shops []*shop
	var names []string
	for range databases {
		s := newShop(t)
		shops, names = append(shops, s), append(names, s.Name)
	}
	var all []*pgoutbox.Outbox
	var config strings.Builder
	config.WriteString("http: {listen: '127.0.0.1:0'}\nmetrics: {listen: '127.0.0.1:0'}\noutboxes:\n")
	for i := range outboxes {
		s := shops[i%databases]
		ob, err := pgoutbox.New(s.Pool, pgoutbox.Config{Table: fmt.Sprintf("o%d", i)})
		require.NoError(t, err)
		require.NoError(t, ob.Migrate(t.Context()))
		all = append(all, ob)
		fmt.Fprintf(&config, `  - name: o%[1]d
    database: %[4]s
    table: o%[1]d
    relays: [{sink: {http: {allow_http: true, allow_networks: [127.0.0.0/8], endpoints: {orders: {url: '%[2]s', secrets: ['%[3]s']}}}}}]
    maintenance: {retention: 24h}
`, i, endpoint.URL, httpsink.NewSecret(), s.URL)
	}
	d := newSession(t, shops[0].URL).begin("run", "--config", written(t, "leat.yaml", config.String()))
	d.answers("/readyz", http.StatusOK)
	for i := range outboxes {
		d.is(daemon.StateLeader, "relay", fmt.Sprintf("o%d", i), "default")
	}
	count := func() (n int) {
		require.NoError(t, shops[0].Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = ANY($1) AND application_name LIKE 'leat%'`, names).Scan(&n))
		return n
	}
	d.eventually(fmt.Sprintf("at most %d connections", most), func() bool { return count() <= most })

	for i, ob := range all {
		require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: "k", Payload: []byte("{}")})
		}))
		d.eventually("it is sent", func() bool { return heard.Load() == int64(i+1) })
	}
	d.eventually("a message now and then takes no other connection", func() bool { return count() <= most })
}

// A daemon that needs more connections of a server than it may take does not start, and says what
// would help. One that may says what it takes.
func TestRun_ConnectionsBound(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	run := newSession(t, s.URL)
	config := func(connections int) string {
		return written(t, "leat.yaml", fmt.Sprintf(`
connections: %d
http: {listen: '127.0.0.1:0'}
outboxes:
  - name: shop
    relays: [{slots: 3, sink: {kafka: {brokers: '127.0.0.1:1'}}}]
    maintenance: {}
`, connections))
	}
	// Three slots, the connection that listens and holds leases, and a pool of four.
	refused := run.leat("run", "--config", config(7))
	require.NotZero(t, refused.code)
	require.Contains(t, refused.err, "connections = 7: the daemon takes 8 connections of ")
	require.Contains(t, refused.err, "set connections to 8")
	d := run.begin("run", "--config", config(9))
	d.eventually("it says so", func() bool { return strings.Contains(d.log.String(), "at_most=9") })
	d.answers("/readyz", http.StatusOK)
	require.Zero(t, d.ends(syscall.SIGTERM))
}

// MySQL and MariaDB have 151 connections as installed: a daemon takes at most half of them unless it
// is told, and never the one that the server keeps for its administrators, even if its user may.
//
//leat:level 4
func TestSQL_RunConnectionsBound(t *testing.T) {
	t.Parallel()
	for dialect, private := range map[outbox.Dialect]func(testing.TB, map[string]string) *testenv.PrivateMySQLServer{
		outbox.MySQL: testenv.PrivateMySQL, outbox.MariaDB: testenv.PrivateMariaDB,
	} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			url, dsn := newSQLDatabase(t, dialect, private(t, map[string]string{"max-connections": "151"}).URL)
			admin, err := sql.Open("mysql", dsn)
			require.NoError(t, err)
			t.Cleanup(func() { admin.Close() })
			run := newSession(t, url)
			require.Zero(t, run.leat("migrate", "up", "--yes").code)
			config := func(bound string, relays int) string {
				text := []byte(bound + "\nhttp: {listen: '127.0.0.1:0'}\noutboxes:\n  - name: shop\n    relays:\n")
				for i := range relays {
					text = fmt.Appendf(text, "      - {group: g%d, start: oldest, sink: {kafka: {brokers: '127.0.0.1:1'}}}\n", i)
				}
				return written(t, "leat.yaml", string(text))
			}
			// Three for each slot, and a pool of four.
			refused := run.leat("run", "--config", config("", 24))
			require.NotZero(t, refused.code)
			require.Contains(t, refused.err, "connections = 75: the daemon takes 76 connections of ")
			require.Contains(t, refused.err, "which has 151 for all its clients: set connections to 76")

			const most = 7
			_, err = admin.ExecContext(t.Context(), "SET GLOBAL max_connections = 12")
			require.NoError(t, err)
			admin.SetMaxIdleConns(12)
			hogs := make([]*sql.Conn, 12)
			for i := range hogs {
				hogs[i], err = admin.Conn(t.Context())
				require.NoError(t, err)
			}
			d := run.begin("run", "--config", config(fmt.Sprintf("connections: %d", most), 1))
			d.eventually("it leaves the last one alone", func() bool {
				return strings.Contains(d.log.String(), "no connection left but the one that it reserves for administrators")
			})
			d.eventually("an administrator gets in", func() bool {
				conn, err := admin.Conn(t.Context())
				return err == nil && conn.Close() == nil
			})
			for _, hog := range hogs {
				require.NoError(t, hog.Close())
			}
			admin.SetMaxIdleConns(1)
			d.is(daemon.StateLeader, "relay", "shop", "g0")
			d.answers("/readyz", http.StatusOK)
			var connected int
			require.NoError(t, admin.QueryRowContext(t.Context(), "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()").Scan(&connected))
			require.LessOrEqual(t, connected, most)
			require.Zero(t, d.ends(syscall.SIGTERM))
		})
	}
}
