package main_test

import (
	"fmt"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/internal/testenv"
)

// elsewhere is a destination other than Kafka, behind a gate, that takes the topic orders and no other.
type elsewhere struct {
	gate    *gate
	url     string // through the gate
	section string // of the file, with %s for the url
	names   string // how errors name it
	arrived func() int
}

func onRabbit(t *testing.T) elsewhere {
	t.Helper()
	u, err := url.Parse(testenv.Rabbit(t).URL)
	require.NoError(t, err)
	conn, err := amqp.Dial(u.String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	channel, err := conn.Channel()
	require.NoError(t, err)
	_, err = channel.QueueDeclare("orders", true, false, false, false, nil)
	require.NoError(t, err)
	g := gateTo(t, "tcp", u.Host)
	u.Host = g.address
	return elsewhere{g, u.String(), "amqp: {queues: true, urls: ['%s']}", "rabbitmq", func() int {
		q, err := channel.QueueDeclarePassive("orders", true, false, false, false, nil)
		require.NoError(t, err)
		return q.Messages
	}}
}

func onRedis(t *testing.T) elsewhere {
	t.Helper()
	address := testenv.PrivateRedis(t, map[string]string{"appendonly": "yes", "appendfsync": "always"}).Addr
	client := redis.NewClient(&redis.Options{Addr: address})
	t.Cleanup(func() { _ = client.Close() })
	require.NoError(t, client.XGroupCreateMkStream(t.Context(), "shop:orders", "stock", "0").Err())
	g := gateTo(t, "tcp", address)
	return elsewhere{g, "redis://" + g.address + "/0", "redis: {prefix: 'shop:', existing_only: true, url: '%s'}", "redis", func() int {
		n, err := client.XLen(t.Context(), "shop:orders").Result()
		require.NoError(t, err)
		return int(n)
	}}
}

func onNATS(t *testing.T) elsewhere {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(t, s.ReadyForConnections(patience))
	conn, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "orders", Subjects: []string{"orders"}})
	require.NoError(t, err)
	g := gateTo(t, "tcp", strings.TrimPrefix(s.ClientURL(), "nats://"))
	return elsewhere{g, "nats://" + g.address, "nats: {urls: ['%s']}", "nats", func() int {
		info, err := stream.Info(t.Context())
		require.NoError(t, err)
		return int(info.State.Msgs)
	}}
}

// A daemon sends to each destination that a file can name: doctor looks there, what it does not take waits
// without holding up anything, and one that is unavailable makes the daemon degraded, and never unready.
func TestRun_Sinks(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) elsewhere{"RabbitMQ": onRabbit, "Redis": onRedis, "NATS": onNATS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to, s := start(t), newShop(t)
			o := newSession(t, s.URL)
			o.env = append(o.env, "PASSWORD="+to.url)
			config := written(t, "leat.yaml", "outboxes: [{name: shop, relays: [{lease: 4s, publish_timeout: 1s, sink: {"+fmt.Sprintf(to.section, "${env:PASSWORD}")+
				"}}]}]\nhttp: {listen: '127.0.0.1:0'}\n")
			require.Empty(t, o.leat("config", "lint", config).out)
			d := o.begin("run", "--config", config)
			d.answers("/readyz", 200)
			comes := func(n int) {
				t.Helper()
				d.eventually(fmt.Sprint(n, " arrive"), func() bool { return to.arrived() == n })
			}
			s.enqueue(t, placed("m-1", "orders", "k", "1"), placed("m-2", "orders", "k", "2"))
			comes(2)
			looks := func(check string) doctor.Finding {
				found, _ := o.examined("--only", check, "--config", config)
				require.Len(t, found, 1)
				return found[0]
			}
			require.Equal(t, doctor.OK, looks("sinks.reachable").Verdict)
			require.Equal(t, doctor.OK, looks("sinks.topics").Verdict)

			s.enqueue(t, placed("m-3", "mails", "k", "3"), placed("m-4", "orders", "k", "4"))
			comes(3)
			require.Equal(t, doctor.Finding{
				Check: "sinks.topics", Verdict: doctor.Fail, Text: "group default, " + name + `: does not take ["mails"]`,
				Advice: "create it there, or allow to write; its messages wait meanwhile, and go on by themselves",
			}, looks("sinks.topics"))

			to.gate.shut()
			s.enqueue(t, placed("m-5", "orders", "k", "5"))
			d.eventually("the outage is told", func() bool {
				return strings.Contains(o.leat("status", "--config", config).out, to.names+" at ["+to.gate.address+"] ")
			})
			require.NotEmpty(t, d.is(daemon.StateDegraded, "relay", "shop", "default").Reason)
			d.answers("/readyz", 200)
			away := looks("sinks.reachable")
			require.Equal(t, doctor.Fail, away.Verdict)
			require.Contains(t, away.Text, to.names+" at ["+to.gate.address+"] does not answer")
			require.Equal(t, doctor.Unknown, looks("sinks.topics").Verdict)
			to.gate.open()
			comes(4)
			require.Zero(t, d.ends(syscall.SIGTERM), d.log)

			o.env = o.env[:len(o.env)-1]
			require.Equal(t, doctor.Unknown, looks("sinks.reachable").Verdict, "who has no secret of it cannot look")
		})
	}
}

// One group is relayed by flags and a variable as well.
func TestRelay_Sinks(t *testing.T) {
	t.Parallel()
	to, s := onNATS(t), newShop(t)
	o := newSession(t, s.URL)
	for reason, args := range map[string][]string{
		"must not have a password":       {"--sink", "redis://ann:secret@h/0"},
		"or token, which others":         {"--sink", "nats://secret@h"},
		"must begin with amqp://":        {"--sink", "https://example.com/"},
		"is for Kafka, and --sink sends": {"--sink", "nats://h", "--compression", "zstd"},
		`--brokers "k1:9092": is for`:    {"--sink", "nats://h", "--brokers", "k1:9092"},
	} {
		r := o.leat(append([]string{"relay"}, args...)...)
		require.Equal(t, 2, r.code, r.err)
		require.Contains(t, r.err, reason)
		require.NotContains(t, r.err, "secret")
	}
	s.enqueue(t, placed("m-1", "orders", "k", "1"))
	d := o.begin("relay", "--sink", to.url, "--listen", "127.0.0.1:0")
	d.eventually("one arrives", func() bool { return to.arrived() == 1 })
	require.Zero(t, d.ends(syscall.SIGTERM), d.log)
	o.env = append(o.env, "LEAT_SINK_URL="+to.url)
	s.enqueue(t, placed("m-2", "orders", "k", "2"))
	d = o.begin("relay", "--listen", "127.0.0.1:0")
	d.eventually("by the variable", func() bool { return to.arrived() == 2 })
	require.Zero(t, d.ends(syscall.SIGTERM), d.log)
}
