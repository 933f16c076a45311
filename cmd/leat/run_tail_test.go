package main_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/httpsink"
)

// tailing is a file of a relay with a tail, whose polls grow ever rarer.
const tailing = `
outboxes:
  - name: shop
    relays: [{poll_max: 10m, no_listen: true, tail: {look: 1s}, sink: {http: {allow_http: true, allow_networks: [127.0.0.0/8], endpoints: {orders: {url: '%s', secrets: ['%s']}}}}}]
http: {listen: '127.0.0.1:0'}
metrics: {listen: '127.0.0.1:0'}
`

// TestRun_Tail: messages of a producer that rings no bell come by the tail that the file asks
// for, and the metrics tell whether there is one.
//
//leat:level 2
func TestRun_Tail(t *testing.T) {
	t.Parallel()
	_, db := published(t)
	exec := func(sql string) {
		t.Helper()
		_, err := db.Pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	var got atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got.Add(1) }))
	t.Cleanup(server.Close)
	o := newSession(t, db.URL)
	r := o.begin("run", "--config", written(t, "leat.yaml", fmt.Sprintf(tailing, server.URL, httpsink.NewSecret())))

	follows := func(value string) {
		t.Helper()
		r.eventually("the metric is "+value, func() bool {
			response, err := http.Get(r.metrics() + "/metrics")
			if err != nil {
				return false
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			return err == nil && strings.Contains(string(body), `leat_relay_tail_follows{group="default",outbox="shop"} `+value+"\n")
		})
	}
	follows("1")
	for n := range int64(3) {
		exec("SELECT leat.outbox_enqueue('orders', '\\x01'::bytea)")
		r.eventually("it comes", func() bool { return got.Load() > n })
	}
	exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'walsender'; DROP PUBLICATION leat")
	follows("0")
	require.Zero(t, r.ends(syscall.SIGTERM))
}
