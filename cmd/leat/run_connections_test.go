package main_test

import (
	"context"
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
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/httpsink"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// A daemon of forty outboxes of one database, with metrics and maintenance, holds at most fifty
// connections while nothing happens, and each of its outboxes is still heard at once.
//
//leat:level 4
func TestRun_Connections(t *testing.T) {
	t.Parallel()
	const outboxes, most = 40, 50
	s := newShop(t)
	var heard atomic.Int64
	endpoint := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
	t.Cleanup(endpoint.Close)
	var all []*pgoutbox.Outbox
	var config strings.Builder
	config.WriteString("http: {listen: '127.0.0.1:0'}\nmetrics: {listen: '127.0.0.1:0', interval: 1s}\noutboxes:\n")
	for i := range outboxes {
		ob, err := pgoutbox.New(s.Pool, pgoutbox.Config{Table: fmt.Sprintf("o%d", i)})
		require.NoError(t, err)
		require.NoError(t, ob.Migrate(t.Context()))
		all = append(all, ob)
		fmt.Fprintf(&config, `  - name: o%[1]d
    table: o%[1]d
    relays: [{sink: {http: {allow_http: true, allow_networks: [127.0.0.0/8], endpoints: {orders: {url: '%[2]s', secrets: ['%[3]s']}}}}}]
    maintenance: {retention: 24h, interval: 2s}
`, i, endpoint.URL, httpsink.NewSecret())
	}
	d := newSession(t, s.URL).begin("run", "--config", written(t, "leat.yaml", config.String()))
	d.answers("/readyz", http.StatusOK)
	for i := range outboxes {
		d.is(daemon.StateLeader, "relay", fmt.Sprintf("o%d", i), "default")
	}
	count := func() (n int) {
		require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name LIKE 'leat%'`).Scan(&n))
		return n
	}
	d.eventually(fmt.Sprintf("at most %d connections", most), func() bool { return count() <= most })

	for i, ob := range all {
		require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: "k", Payload: []byte("{}")})
		}))
		d.eventually("it is sent", func() bool { return heard.Load() == int64(i+1) })
	}
	require.LessOrEqual(t, count(), most, "a message now and then takes no other connection")
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
	// Three slots, the connections that listen and hold leases, and a pool of four.
	refused := run.leat("run", "--config", config(8))
	require.NotZero(t, refused.code)
	require.Contains(t, refused.err, "connections = 8: the daemon takes 9 connections of ")
	require.Contains(t, refused.err, "set connections to 9")
	d := run.begin("run", "--config", config(10))
	d.eventually("it says so", func() bool { return strings.Contains(d.log.String(), "at_most=10") })
	d.answers("/readyz", http.StatusOK)
	require.Zero(t, d.ends(syscall.SIGTERM))
}
