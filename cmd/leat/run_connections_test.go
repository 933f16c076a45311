package main_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
	peak := 0
	for range 20 {
		peak = max(peak, count())
		d.eventually("samples come", func() bool {
			_, body := d.get("/statusz")
			return body != ""
		})
	}
	t.Logf("%d connections at most, %d now", peak, count())
	d.eventually(fmt.Sprintf("at most %d connections", most), func() bool { return count() <= most })

	for i, ob := range all {
		began := time.Now()
		require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: "k", Payload: []byte("{}")})
		}))
		d.eventually("it is sent", func() bool { return heard.Load() == int64(i+1) })
		_ = began
	}
	require.LessOrEqual(t, count(), most, "a message now and then takes no other connection")
}
