package main_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/httpsink"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// twoOutboxes is a file of two outboxes and three groups. Leases are short, so that a
// takeover does not take long.
const twoOutboxes = `
kafka: {brokers: '%[1]s'}
outboxes:
  - name: shop
    relays:
      - {group: default, slots: 2, lease: 4s, publish_timeout: 1s, sink: {kafka: {}}}
      - {group: copy, start: oldest, topics: ['%[2]s'], lease: 4s, publish_timeout: 1s, sink: {kafka: {compression: zstd}}}
    maintenance: {retention: 24h}
  - name: billing
    table: billing
    relays:
      - {lease: 4s, publish_timeout: 1s, sink: {kafka: {exactly_once: true, position_topic: '%[3]s', create_position_topic: true}}}
inboxes: [{name: in}]
http: {listen: '127.0.0.1:0'}
metrics: {listen: '127.0.0.1:0', interval: 1s}
`

// daemonShop is a shop with two outboxes and topics.
type daemonShop struct {
	*shop

	billing *pgoutbox.Outbox
	brokers []string
	orders  string
	bills   string
	config  string
	session *session
}

func newDaemonShop(t *testing.T, kafka *testenv.KafkaEnv) *daemonShop {
	t.Helper()
	s := &daemonShop{shop: newShop(t), brokers: kafka.Brokers}
	in, err := pginbox.New(s.Pool, "loyalty", pginbox.Config{})
	require.NoError(t, err)
	require.NoError(t, in.Migrate(t.Context()))
	s.billing, err = pgoutbox.New(s.Pool, pgoutbox.Config{Table: "billing"})
	require.NoError(t, err)
	require.NoError(t, s.billing.Migrate(t.Context()))
	s.orders, s.bills = kafka.Topic(t, "orders", 2), kafka.Topic(t, "bills", 1)
	s.config = written(t, "leat.yaml", fmt.Sprintf(twoOutboxes, strings.Join(s.brokers, ","), s.orders, s.bills+"-positions"))
	s.session = newSession(t, s.URL)
	return s
}

// order enqueues n orders and as many bills, whose ids begin with prefix.
func (s *daemonShop) order(t *testing.T, prefix string, n int) {
	t.Helper()
	for i := range n {
		id := fmt.Sprintf("%s-%d", prefix, i)
		s.enqueue(t, placed(id, s.orders, "k-"+itoa(i%7), id))
		require.NoError(t, s.billing.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			return s.billing.Enqueue(ctx, tx, outbox.Message{ID: "b-" + id, Topic: s.bills, Key: "k", Payload: []byte(id)})
		}))
	}
}

// arrived waits until every id has come to topic, and returns how often each has.
func (s *daemonShop) arrived(t *testing.T, topic string, prefixes []string, n int) map[string]int {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	times := map[string]int{}
	missing := func() (ids []string) {
		for _, prefix := range prefixes {
			for i := range n {
				if id := fmt.Sprintf("%s-%d", prefix, i); times[id] == 0 {
					ids = append(ids, id)
				}
			}
		}
		return ids
	}
	for len(missing()) > 0 {
		fetches := client.PollFetches(ctx)
		require.NoError(t, ctx.Err(), "missing in %s: %q", topic, missing())
		fetches.EachRecord(func(r *kgo.Record) {
			for _, h := range r.Headers {
				if h.Key == outbox.HeaderEventID {
					times[string(h.Value)]++
				}
			}
		})
	}
	return times
}

// A daemon carries two outboxes by three groups, tells how it is and is measured, takes a
// new level of the log while it runs, and drains without a loss.
func TestRun(t *testing.T) {
	t.Parallel()
	s := newDaemonShop(t, testenv.Kafka(t))
	require.Empty(t, s.session.leat("config", "lint", s.config).out)
	first := s.session.begin("run", "--config", s.config)
	first.answers("/readyz", 200)
	s.order(t, "m", 20)
	s.arrived(t, s.orders, []string{"m"}, 20)
	s.arrived(t, s.bills, []string{"b-m"}, 20)
	require.Len(t, first.is(daemon.StateLeader, "relay", "shop", "default").Slots, 2)
	first.is(daemon.StateLeader, "relay", "shop", "copy")
	first.is(daemon.StateLeader, "relay", "billing", "default")
	first.is(daemon.StateLeader, "maintenance", "shop", "")
	first.answers("/livez", 200)
	require.Equal(t, daemon.StateOK, first.status().State)
	require.Equal(t, "ok\n", s.session.leat("health", "--url", first.url).out)
	for _, path := range []string{"/livez/", "/x/livez", "//livez", "/livez%2f", "/LIVEZ", "/", "/metrics", "/readyz;x"} {
		code, _ := first.get(path)
		require.Equal(t, 404, code, path)
	}
	scraped := &running{url: first.metrics()}
	for _, series := range []string{
		fmt.Sprintf(`leat_relay_sent_messages_total{group="copy",outbox="shop",outcome="delivered",topic="%s"} 20`, s.orders),
		`leat_outbox_lag_seconds{group="default",outbox="billing",slot="0"} 0`, `leat_inbox_parked_messages{inbox="in"} 0`,
		`leat_outbox_maintenance_rounds_total{outbox="shop",outcome="ok"}`,
	} {
		first.shows(scraped, series)
	}

	content, err := os.ReadFile(s.config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(s.config, append(content, "log: {level: loud}\n"...), 0o600))
	require.NoError(t, first.cmd.Process.Signal(syscall.SIGHUP))
	first.eventually("refuses what is wrong", func() bool { return strings.Contains(first.log.String(), "not reloaded") })
	require.Contains(t, first.log.String(), `log.level: \"loud\"`)
	require.NoError(t, os.WriteFile(s.config, append(content, "log: {level: debug}\n"...), 0o600))
	require.NoError(t, first.cmd.Process.Signal(syscall.SIGHUP))
	first.eventually("reloads", func() bool {
		return strings.Contains(first.log.String(), "msg=reloaded") || strings.Contains(first.log.String(), "msg=\"reloaded")
	})

	s.order(t, "n", 50)
	require.Zero(t, first.ends(syscall.SIGTERM), first.log)
	require.Equal(t, 1, s.session.leat("health", "--url", first.url).code)
	s.session.begin("run", "--config", s.config)
	s.arrived(t, s.orders, []string{"m", "n"}, 20)
	require.Equal(t, 1, s.arrived(t, s.bills, []string{"b-m", "b-n"}, 20)["b-n-0"], "exactly once")
	s.arrived(t, s.orders, []string{"n"}, 50)
}

// A broker that is out makes a daemon degraded, and never unready; a database that is out
// makes it unready, and restarts nothing. Both come back by themselves.
//
//leat:level 4
func TestRun_Outages(t *testing.T) {
	t.Parallel()
	server := testenv.PrivateKafka(t)
	s := newDaemonShop(t, &testenv.KafkaEnv{Brokers: server.Brokers, Real: true, Prefix: "outages-"})
	gate := newGate(t, s.Pool.Config().ConnConfig)
	s.session.env = append(s.session.env, "LEAT_DATABASE_URL="+gate.url)
	d := s.session.begin("run", "--config", s.config)
	d.answers("/readyz", 200)

	server.Kill()
	s.order(t, "m", 5)
	status := d.is(daemon.StateDegraded, "relay", "shop", "default")
	require.NotEmpty(t, status.Reason)
	d.answers("/readyz", 200)
	d.answers("/livez", 200)
	server.Start()
	s.arrived(t, s.orders, []string{"m"}, 5)
	s.arrived(t, s.bills, []string{"b-m"}, 5)
	d.is(daemon.StateLeader, "relay", "shop", "default")

	gate.shut()
	d.answers("/readyz", 503)
	d.answers("/livez", 200)
	require.Equal(t, daemon.StateDown, d.status().State)
	s.order(t, "n", 5)
	gate.open()
	s.arrived(t, s.orders, []string{"n"}, 5)
	d.answers("/readyz", 200)
}

// If one of two daemons dies, the other takes over.
//
//leat:level 4
func TestRun_Takeover(t *testing.T) {
	t.Parallel()
	s := newDaemonShop(t, testenv.Kafka(t))
	first := s.session.begin("run", "--config", s.config)
	first.is(daemon.StateLeader, "relay", "billing", "default")
	second := s.session.begin("run", "--config", s.config)
	second.answers("/readyz", 200)
	second.is(daemon.StateStandby, "relay", "billing", "default")
	s.order(t, "m", 10)
	require.Equal(t, -1, first.ends(syscall.SIGKILL))
	s.order(t, "n", 10)
	second.is(daemon.StateLeader, "relay", "billing", "default")
	s.arrived(t, s.orders, []string{"m", "n"}, 10)
	s.arrived(t, s.bills, []string{"b-m", "b-n"}, 10)
	require.Zero(t, second.ends(syscall.SIGTERM))
}

// A second signal ends a daemon that cannot drain: its destination does not answer.
func TestRun_SecondSignal(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	asked, over := make(chan struct{}, 100), make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-over
	}))
	t.Cleanup(func() {
		close(over)
		hangs.Close()
	})
	config := written(t, "leat.yaml", `
http: {listen: '127.0.0.1:0'}
outboxes:
  - name: shop
    relays:
      - publish_timeout: 2m
        lease: 5m
        drain_timeout: 2m
        sink:
          http:
            timeout: 2m
            allow_http: true
            allow_networks: [127.0.0.0/8]
            endpoints: {orders: {url: '`+hangs.URL+`', secrets: ['`+httpsink.NewSecret()+`']}}
`)
	d := newSession(t, s.URL).begin("run", "--config", config)
	s.enqueue(t, placed("m-1", "orders", "k", "fine"))
	<-asked
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGTERM))
	d.answers("/readyz", 503)
	d.eventually("ends at a second signal, if that comes a second later", func() bool {
		_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-d.ended:
			return true
		default:
			return false
		}
	})
	require.Equal(t, 1, d.exitCode, d.log)
	require.Contains(t, d.log.String(), "a second signal")
}

// leat relay relays one group by flags.
func TestRelay(t *testing.T) {
	t.Parallel()
	kafka := testenv.Kafka(t)
	s := &daemonShop{shop: newShop(t), brokers: kafka.Brokers}
	topic := kafka.Topic(t, "relayed", 1)
	s.enqueue(t, placed("m-0", topic, "k", "fine"))
	o := newSession(t, s.URL)
	d := o.begin("relay", "--brokers", strings.Join(kafka.Brokers, ","), "--listen", "127.0.0.1:0", "--retention", "7d")
	s.arrived(t, topic, []string{"m"}, 1)
	d.is(daemon.StateLeader, "relay", "outbox", "default")
	d.is(daemon.StateLeader, "maintenance", "outbox", "")
	require.Zero(t, d.ends(syscall.SIGTERM))

	for want, args := range map[string][]string{
		`kafka.brokers = "": must name a broker`:          {},
		`--slots: "none": must be a number`:               {"--slots", "none"},
		`--slots = 65: must be 1 to 64`:                   {"--slots", "65"},
		`--slo: "soon": must be a duration`:               {"--slo", "soon"},
		`--start: "then": must be oldest, now, or a time`: {"--start", "then"},
		`--listen: "8470": must be host:port`:             {"--listen", "8470"},
		`--log-level: "loud": must be one of`:             {"--log-level", "loud"},
		`--compression: "zip": must be one of`:            {"--compression", "zip"},
	} {
		if len(args) > 0 {
			args = append(args, "--brokers", "k1:9092")
		}
		r := o.leat(append([]string{"relay"}, args...)...)
		require.Equal(t, 2, r.code, r.err)
		require.Contains(t, r.err, want)
	}
}

// asyncCommits is the file of an outbox whose database may answer a COMMIT before it is on the disk, or may not.
func asyncCommits(t *testing.T, allowed bool) string {
	t.Helper()
	return written(t, "leat.yaml", fmt.Sprintf(`
outboxes: [{name: shop, allow_async_commit: %t, relays: [{sink: {kafka: {}}}]}]
kafka: {brokers: '127.0.0.1:1'}
http: {listen: '127.0.0.1:0'}
`, allowed))
}

// A database that answers a COMMIT before it is on the disk is refused, unless the file allows it.
func TestRun_AllowAsyncCommit(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(newShop(t).URL)
	require.NoError(t, err)
	u.RawQuery += "&options=-c%20synchronous_commit%3Doff"
	o := newSession(t, u.String())
	refused := o.begin("run", "--config", asyncCommits(t, false)).is(daemon.StateDown, "relay", "shop", "default")
	require.Contains(t, refused.Reason, "synchronous_commit is off")
	require.Contains(t, refused.Reason, "allow async commits")
	o.begin("run", "--config", asyncCommits(t, true)).is(daemon.StateLeader, "relay", "shop", "default")
}

// The same on MariaDB.
//
//leat:level 4
func TestSQL_AllowAsyncCommit(t *testing.T) {
	t.Parallel()
	server := testenv.PrivateMariaDB(t, map[string]string{"innodb-flush-log-at-trx-commit": "2"})
	address, _ := newSQLDatabase(t, outbox.MariaDB, server.URL)
	o := newSession(t, address)
	up := o.leat("migrate", "up", "--yes")
	require.Zero(t, up.code, up.err)
	refused := o.begin("run", "--config", asyncCommits(t, false)).is(daemon.StateDown, "relay", "shop", "default")
	require.Contains(t, refused.Reason, "innodb_flush_log_at_trx_commit")
	o.begin("run", "--config", asyncCommits(t, true)).is(daemon.StateLeader, "relay", "shop", "default")
}
