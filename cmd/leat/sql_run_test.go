package main_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

const sqlDaemon = `
kafka: {brokers: '%[1]s'}
outboxes:
  - name: shop
    relays:
      - {group: default, lease: 4s, publish_timeout: 1s, sink: {kafka: {}}}
      - {group: copy, start: oldest, topics: ['%[2]s'], lease: 4s, publish_timeout: 1s, sink: {kafka: {}}}
    maintenance: {retention: 24h}
inboxes: [{name: in, retention: 336h}]
http: {listen: '127.0.0.1:0', dashboard: {}}
metrics: {listen: '127.0.0.1:0', interval: 1s}
`

// A daemon relays an outbox on MariaDB, and on SQLite, by two groups into Kafka, maintains
// it and an inbox, tells how it is and shows both on the dashboard, and drains without a
// loss.
//
//leat:level 2
func TestSQL_Run(t *testing.T) {
	t.Parallel()
	onSQL(t, func(t *testing.T, s *sqlShop) {
		if s.dialect == outbox.MySQL {
			t.Skip("as MariaDB")
		}
		kafka := testenv.Kafka(t)
		topic := kafka.Topic(t, "orders", 2)
		in := s.inbox(t, "loyalty", inbox.Config{})
		_, err := in.Process(t.Context(), message.NewMessage("m-1", nil), func(context.Context) error { return nil })
		require.NoError(t, err)
		config := written(t, "leat.yaml", fmt.Sprintf(sqlDaemon, strings.Join(kafka.Brokers, ","), topic))
		o := newSession(t, s.url)
		require.Empty(t, o.leat("config", "lint", config).out)
		d := o.begin("run", "--config", config)
		d.answers("/readyz", 200)
		judge := &daemonShop{brokers: kafka.Brokers}
		order := func(prefix string, n int) {
			for i := range n {
				id := fmt.Sprintf("%s-%d", prefix, i)
				s.enqueue(t, placed(id, topic, "k-"+itoa(i%7), id))
			}
		}
		order("m", 20)
		judge.arrived(t, topic, []string{"m"}, 20)
		d.is(daemon.StateLeader, "relay", "shop", "default")
		d.is(daemon.StateLeader, "relay", "shop", "copy")
		d.is(daemon.StateLeader, "maintenance", "shop", "")
		d.is(daemon.StateLeader, "inbox maintenance", "in", "")
		d.answers("/livez", 200)
		require.Equal(t, daemon.StateOK, d.status().State)
		require.Equal(t, "ok\n", o.leat("health", "--url", d.url).out)
		for path, want := range map[string]string{"/api/v1/status": `"name":"shop"`, "/groups": "copy", "/inboxes": "loyalty", "/messages": topic} {
			d.eventually(path+" has "+want, func() bool { // samples are a few seconds old at most
				code, body := d.get(path)
				return code == http.StatusOK && strings.Contains(body, want)
			})
		}
		scraped := &running{url: d.metrics()}
		for _, series := range []string{
			fmt.Sprintf(`leat_relay_sent_messages_total{group="copy",outbox="shop",outcome="delivered",topic="%s"} 20`, topic),
			`leat_outbox_lag_seconds{group="default",outbox="shop",slot="0"} 0`, `leat_inbox_parked_messages{inbox="in"} 0`,
			`leat_outbox_maintenance_rounds_total{outbox="shop",outcome="ok"}`, `leat_inbox_maintenance_rounds_total{inbox="in",outcome="ok"}`,
		} {
			d.eventually(series, func() bool {
				_, body := scraped.get("/metrics")
				return strings.Contains(body, series)
			})
		}
		order("n", 30)
		require.Zero(t, d.ends(syscall.SIGTERM), d.log)
		o.begin("run", "--config", config)
		judge.arrived(t, topic, []string{"m", "n"}, 20)
		judge.arrived(t, topic, []string{"n"}, 30)
	})
}

// What a file asks of a store that does not have it is told with its line, before anything
// is connected to.
func TestSQL_RunWrongFile(t *testing.T) {
	t.Parallel()
	const sink = "sink: {kafka: {brokers: 'k1:9092'}}"
	for _, c := range []struct{ outbox, want string }{
		{"relays: [{slots: 2, " + sink + "}]", `:4: outboxes[0].relays[0].slots = 2: MySQL cannot do this`},
		{"relays: [{no_listen: true, " + sink + "}]", `:4: outboxes[0].relays[0].no_listen = true: MySQL cannot do this`},
		{"relays: [{sink: {kafka: {brokers: 'k1:9092', exactly_once: true, position_topic: p}}}]", `:4: outboxes[0].relays[0]: exactly_once = true: MySQL cannot do this`},
		{"schema: shop, relays: [{" + sink + "}]", `:4: outboxes[0].schema = shop: MySQL cannot do this`},
		{"forwarder: t, relays: [{" + sink + "}]", `:4: outboxes[0].forwarder = t: MySQL cannot do this`},
		{"table: 'a b', relays: [{" + sink + "}]", `:4: outboxes[0].table = "a b"`},
		{"maintenance: {max_bytes: 1GiB}", `:4: outboxes[0].maintenance.max_bytes = 1073741824: MySQL cannot do this`},
		{"maintenance: {partition_size: 5}", `:4: outboxes[0].maintenance.partition_size = 5: MySQL cannot do this`},
		{"maintenance: {no_ddl: true}", `:4: outboxes[0].maintenance.no_ddl = true: MySQL cannot do this`},
		{"maintenance: {archive: {dir: /tmp}}", `:4: outboxes[0].maintenance.archive = a directory: MySQL cannot do this`},
		{"maintenance: {interval: 1us}", `:4: outboxes[0].maintenance.interval = 1µs: must be at least 1ms`},
	} {
		config := written(t, "leat.yaml", "database: 'mysql://ann:secret@nowhere.invalid/shop'\nhttp: {listen: none}\noutboxes:\n- {name: shop, "+c.outbox+"}\n")
		r := newSession(t, "").leat("run", "--config", config)
		require.Equal(t, 2, r.code, "%s: %s", c.outbox, r.err)
		require.Contains(t, r.err, c.want, c.outbox)
		require.NotContains(t, r.err, "secret")
	}
	config := written(t, "leat.yaml", "database: 'sqlite:/nowhere/shop.db'\nhttp: {listen: none}\ninboxes:\n- {retention: 1m}\n- {name: b, retention: 2h, width: 1h}\n")
	r := newSession(t, "").leat("run", "--config", config)
	require.Equal(t, 2, r.code, r.err)
	require.Contains(t, r.err, `:4: inboxes[0].retention = 1m0s: must be 1h or more`)
	require.Contains(t, r.err, `:5: inboxes[1].width = 1h0m0s: SQLite cannot do this`)
}
