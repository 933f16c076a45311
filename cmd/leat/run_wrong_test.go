package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// Whatever is wrong with a file is told with its line and field, by lint and by run, which
// then exits with 2; nothing is connected to.
func TestRun_WrongFile(t *testing.T) { //nolint:revive // a table
	t.Parallel()
	const head = "database: postgres://ann@nowhere.invalid/shop\nkafka: {brokers: 'k1:9092'}\n"
	relay := func(text string) string { // on line 5
		return head + "outboxes:\n- name: shop\n  relays: [{" + text + "}]\n"
	}
	sink := func(text string) string { return relay("sink: {" + text + "}") }
	one := head + "outboxes: [{name: shop, relays: [{sink: {kafka: {}}}]}]\n" // line 3
	o := newSession(t, "")
	for _, c := range []struct{ text, want string }{
		{head, `: outboxes: there is none, and no inbox`},
		{head + "outboxes: 5\n", `:3: outboxes: must be a list`},
		{head + "outboxes: [5]\n", `:3: outboxes[0]: must have fields`},
		{head + "outboxes: [{naem: x}]\n", `:3: unknown field "outboxes[0].naem"`},
		{head + "outboxes: [{name: x, name: y}]\n", `:3: field "outboxes[0].name" is there twice`},
		{head + "outboxes: [{relays: [{sink: {kafka: {}}}]}]\n", `:3: outboxes[0].name: must be set`},
		{head + "outboxes: [{name: a, allow_async_commit: si, relays: [{sink: {kafka: {}}}]}]\n", `:3: outboxes[0].allow_async_commit: "si": must be one of`},
		{head + "outboxes: [{name: shop}]\n", `:3: outboxes[0].relays: there is none`},
		{one + "outboxes: []\n", `:4: field "outboxes" is there twice`},
		{head + "outboxes:\n- {name: a, relays: [{sink: {kafka: {}}}]}\n- {name: a, relays: [{sink: {kafka: {}}}]}\n", `:4: outboxes[0].name: another outbox has this name`},
		{head + "outboxes: [{name: a, table: \"a\\0b\", relays: [{sink: {kafka: {}}}]}]\n", `:3: outboxes[0]`},
		{head + "outboxes: [{name: a, database: 'redis://db/x', relays: [{sink: {kafka: {}}}]}]\n", `:3: database = "redis://…": must be a URL of postgres://`},
		{head + "outboxes: [{name: a, forwarder: t, relays: [{slots: 2, sink: {kafka: {}}}]}]\n", `:3: outboxes[0].relays[0].slots = 2: the table of a forwarder cannot do this`},
		{head + "outboxes: [{name: a, forwarder: t, table: x, relays: [{sink: {kafka: {}}}]}]\n", `:3: outboxes[0].table: leave it out: the table of a forwarder is called`},
		{relay("slo: 5m"), `:5: outboxes[0].relays[0].sink: must be set`},
		{sink(""), `:5: outboxes[0].relays[0].sink: must have one of kafka, amqp, redis, nats and http`},
		{sink("kafka: {}, amqp: {urls: ['amqp://h/']}"), `:5: outboxes[0].relays[0].sink: must have one of`},
		{relay("sink: {kafka: {}}, slo: soon"), `:5: outboxes[0].relays[0].slo: "soon": must be a duration`},
		{relay("sink: {kafka: {}}, slo: [1m]"), `:5: outboxes[0].relays[0].slo: must be a text`},
		{relay("sink: {kafka: {}}, slo: -1m"), `:5: outboxes[0].relays[0].slo: "-1m": must be more than 0`},
		{relay("sink: {kafka: {}}, slots: 65"), `:5: outboxes[0].relays[0].slots = 65: must be 1 to 64`},
		{relay("sink: {kafka: {}}, slots: many"), `:5: outboxes[0].relays[0].slots: "many": must be a number`},
		{relay("sink: {kafka: {}}, group: _x"), `:5: outboxes[0].relays[0].group = "_x": must not begin with _`},
		{relay("sink: {kafka: {}}, start: then"), `:5: outboxes[0].relays[0].start: "then": must be oldest, now, or a time`},
		{relay("sink: {kafka: {}}, topics: x"), `:5: outboxes[0].relays[0].topics: must be a list`},
		{relay("sink: {kafka: {}}, allowed_topics: x"), `:5: outboxes[0].relays[0].allowed_topics: must be a list`},
		{relay("sink: {kafka: {}}, allowed_topics: [a, '']"), `:5: outboxes[0].relays[0].allowed_topics[1] = "": must be valid UTF-8 without NUL, and not empty`},
		{relay("sink: {kafka: {}}, no_listen: si"), `:5: outboxes[0].relays[0].no_listen: "si": must be one of ["false" "true"]`},
		{relay("sink: {kafka: {}}, order: none"), `:5: outboxes[0].relays[0].order: "none": must be one of`},
		{relay("sink: {kafka: {}}, lease: 5s"), `:5: outboxes[0].relays[0].lease = 5s: must exceed publish_timeout`},
		{relay("sink: {kafka: {}}, page_size: 100001"), `:5: outboxes[0].relays[0].page_size = 100001: must be 1 to 100000`},
		{relay("sink: {kafka: {}}, page_bytes: 1XB"), `:5: outboxes[0].relays[0].page_bytes: "1XB": must be a size`},
		{relay("sink: {kafka: {}}, read_ahead: 65"), `:5: outboxes[0].relays[0].read_ahead = 65`},
		{relay("sink: {kafka: {}}, poll_max: 1ms"), `:5: outboxes[0].relays[0].poll_max = 1ms: must not be below`},
		{relay("sink: {kafka: {}}, backoff_max: 1ms"), `:5: outboxes[0].relays[0].backoff_max = 1ms: must not be below`},
		{relay("sink: {kafka: {}}, publish_timeout: x"), `:5: outboxes[0].relays[0].publish_timeout: "x"`},
		{relay("sink: {kafka: {}}, lease_margin: x"), `:5: outboxes[0].relays[0].lease_margin: "x"`},
		{relay("sink: {kafka: {}}, drain_timeout: x"), `:5: outboxes[0].relays[0].drain_timeout: "x"`},
		{relay("sink: {kafka: {}}, max_held: 0"), `:5: outboxes[0].relays[0].max_held: "0": must be a number, at least 1`},
		{relay("sink: {kafka: {}}, adopt_position: 2"), `:5: outboxes[0].relays[0].adopt_position: "2"`},
		{relay("sink: {kafka: {}}, policies: [{action: retry}]"), `:5: outboxes[0].relays[0].policies[0].action: "retry": must be one of`},
		{relay("sink: {kafka: {}}, policies: [{attempts: 1000001}]"), `:5: outboxes[0].relays[0]`},
		{relay("sink: {kafka: {}}},{sink: {kafka: {}}"), `:5: outboxes[0].relays[1].group: another relay of outbox "shop" has group "default"`},
		{relay("sink: {kafka: {}}, slots: 2, tail: {}"), `:5: outboxes[0].relays[0].slots = 2: must be 1 with a tail`},
		{relay("sink: {kafka: {}}, tail: {look: 1ms}"), `:5: outboxes[0].relays[0].tail.look = 1ms: must be 10ms to 1m`},
		{relay("sink: {kafka: {}}, tail: {max_rows: many}"), `:5: outboxes[0].relays[0].tail.max_rows: "many": must be a number`},
		{relay("sink: {kafka: {}}, tail: {url: 'postgres://a:%zz@b/'}"), `:5: outboxes[0].relays[0].tail.url = given`},
		{sink("kafka: {brokers: k1}"), `:5: outboxes[0].relays[0].sink.kafka.brokers = k1: must be host:port`},
		{sink("kafka: {brokers: 'k1:1', tls: si}"), `:5: outboxes[0].relays[0].sink.kafka.tls = si`},
		{sink("kafka: {brokers: 'k1:1', sasl: gssapi}"), `:5: outboxes[0].relays[0].sink.kafka.sasl = "gssapi"`},
		{sink("kafka: {exactly_once: true}"), `:5: outboxes[0].relays[0].sink.kafka.position_topic = "": must be the name of a kafka topic`},
		{sink("kafka: {position_topic: x}"), `:5: outboxes[0].relays[0].sink.kafka.position_topic: needs exactly_once`},
		{sink("kafka: {exactly_once: true, position_topic: x, transaction_timeout: 1h}"), `sink.kafka.transaction_timeout = 1h0m0s: must be 10s to 40s`},
		{sink("kafka: {compression: zip}"), `sink.kafka.compression: "zip": must be one of`},
		{sink("kafka: {format: xml}"), `sink.kafka.format: "xml": must be one of`},
		{sink("kafka: {partitioner: x}"), `sink.kafka.partitioner: "x": must be one of`},
		{sink("kafka: {max_message_bytes: 1}"), `sink.kafka.max_message_bytes = 1`},
		{sink("amqp: {urls: []}"), `:5: outboxes[0].relays[0].sink.amqp.urls`},
		{sink("amqp: {urls: ['http://h']}"), `:5: outboxes[0].relays[0].sink.amqp.urls`},
		{sink("amqp: {urls: ['amqp://h/'], queues: true, exchange: x}"), `sink.amqp.exchange = x: must be empty if queues is set`},
		{sink("redis: {}"), `:5: outboxes[0].relays[0].sink.redis.url = "": must be redis://HOST:PORT/DB`},
		{sink("redis: {url: 'http://h'}"), `:5: outboxes[0].relays[0].sink.redis.url = given: must be redis://`},
		{sink("redis: {url: 'redis://h/0?skip_verify=true'}"), `sink.redis.url = given: must be redis://HOST:PORT/DB or rediss://HOST:PORT/DB, without parameters`},
		{sink("redis: {url: 'redis://h', ca_file: /nowhere}"), `sink.redis.url = given: must begin with rediss://`},
		{sink("redis: {url: 'rediss://h', ca_file: /nowhere}"), `sink.redis.ca_file = /nowhere: open /nowhere`},
		{sink("redis: {url: 'rediss://h', cert_file: /nowhere}"), `/nowhere`},
		{sink("redis: {url: 'rediss://h', key_file: /nowhere}"), `sink.redis`},
		{sink("redis: {url: 'redis://h', sentinels: [s1]}"), `sink.redis.sentinels[0] = s1: must be host:port`},
		{sink("redis: {url: 'redis://h', sentinel_password: x}"), `sink.redis.sentinels = []: must name one with sentinel_password`},
		{sink("redis: {url: 'redis://h', ack: disk}"), `sink.redis.ack: "disk": must be one of ["synced" "replicas" "memory"]`},
		{sink("redis: {url: 'redis://h', ack: replicas, replicas: 101}"), `sink.redis.replicas = 101: must be 1 to 100`},
		{sink("redis: {url: 'redis://h', ack: replicas}"), `sink.redis.replicas = 0: must be 1 to 100`},
		{sink("redis: {url: 'redis://h', existing_only: si}"), `sink.redis.existing_only: "si": must be one of`},
		{sink("redis: {url: 'redis://h', max_len: 0}"), `sink.redis.max_len: "0": must be a number, at least 1`},
		{sink("redis: {url: 'redis://h', max_age: 1ms}"), `sink.redis.max_age = 1ms: must be at least 1s`},
		{sink("redis: {url: 'redis://h', max_age: 1h, max_len: 5}"), `sink.redis.max_age = 1h0m0s: must be 0 if max_len is set`},
		{sink("redis: {url: 'redis://h', max_message_bytes: 1}"), `sink.redis.max_message_bytes = 1: must be 1024`},
		{sink("redis: {url: 'redis://h', prefix: {}}"), `sink.redis.prefix: must be a text`},
		{sink("nats: {}"), `:5: outboxes[0].relays[0].sink.nats.urls = []: must name a server`},
		{sink("nats: {urls: ['nats://n', 'http://h']}"), `:5: outboxes[0].relays[0].sink.nats.urls[1] = given: must be nats://`},
		{sink("nats: {urls: ['nats://n'], max_unacked: 10001}"), `sink.nats.max_unacked = 10001: must be 1 to 10000`},
		{sink("nats: {urls: ['nats://n'], credentials_file: /nowhere}"), `sink.nats.credentials_file = /nowhere: `},
		{sink("nats: {urls: ['tls://n'], ca_file: /nowhere}"), `sink.nats.ca_file = /nowhere`},
		{sink("nats: {urls: ['tls://n'], cert_file: /nowhere}"), `sink.nats`},
		{sink("nats: {urls: ['tls://n'], key_file: /nowhere}"), `sink.nats`},
		{sink("http: {}"), `:5: outboxes[0].relays[0].sink.http.endpoints: there is none`},
		{sink("http: {endpoints: {a: {url: 'ftp://x', secrets: [x]}}}"), `:5: outboxes[0].relays[0].sink.http`},
		{sink("http: {allow_networks: [x], endpoints: {a: {url: 'https://x'}}}"), `allow_networks[0]: "x": must be a network`},
		{head + "outboxes: [{name: a, maintenance: {retention: old}}]\n", `:3: outboxes[0].maintenance.retention: "old": must be a duration`},
		{head + "outboxes: [{name: a, maintenance: {ahead: 101}}]\n", `:3: outboxes[0].maintenance.ahead = 101: must be 1 to 100`},
		{head + "outboxes: [{name: a, maintenance: {max_bytes: 1MB}}]\n", `:3: outboxes[0].maintenance.max_bytes: "1MB": must be a size`},
		{head + "outboxes: [{name: a, maintenance: {max_bytes: 1MiB, no_ddl: true}}]\n", `:3: outboxes[0].maintenance.max_bytes = 1048576: must be 0 where no_ddl is set`},
		{head + "outboxes: [{name: a, maintenance: {archive: {}}}]\n", `:3: outboxes[0].maintenance.archive.dir = "": must be set`},
		{head + "outboxes: [{name: a, maintenance: {archive: {dir: /nowhere/x}}}]\n", `:3: outboxes[0].maintenance.archive.dir = /nowhere/x`},
		{head + "inboxes: [{retention: 1h}]\n", `:3: inboxes[0].retention = 1h0m0s: must be at least width`},
		{head + "inboxes: [{}, {}]\n", `:3: inboxes[1].name: another inbox is called inbox`},
		{one + "http: {listen: '8470'}\n", `:4: http.listen: "8470": must be host:port`},
		{one + "http: {cert_file: /nowhere}\n", `:4: http.cert_file = /nowhere`},
		{one + "http: {listen: ':8470', dashboard: {}}\n", `:4: http.dashboard: listen = :8470: is reached from other machines: it needs basic, bearer or proxy_peers`},
		{one + "http: {listen: ':8470', dashboard: {proxy_peers: [10.0.0.7], proxy_roles: [a=admin]}}\n", `:4: http.dashboard: listen = :8470: needs hosts`},
		{one + "http: {listen: none, dashboard: {}}\n", `:4: http.listen: the dashboard needs an address`},
		{one + "http: {dashboard: {bearer: /nowhere}}\n", `:4: http.dashboard.bearer = /nowhere`},
		{one + "http: {dashboard: {basic: /nowhere}}\n", `:4: http.dashboard.basic = /nowhere`},
		{one + "http: {dashboard: {proxy_roles: [a=admin]}}\n", `:4: http.dashboard.proxy_peers, proxy_roles = a=admin: a proxy needs peers`},
		{one + "http: {dashboard: {allow: [root]}}\n", `:4: http.dashboard.allow[0] = root: role "root": must be one of`},
		{one + "http: {dashboard: {base: ops}}\n", `:4: http.dashboard.base = "ops": must begin and end with a slash`},
		{one + "http: {dashboard: {proxy_peers: [10.0.0.7], proxy_roles: [a=admin], hosts: [a, 'b/c']}}\n", `:4: http.dashboard.hosts[1] = "b/c": must be a name`},
		{one + "http: {dashboard: {hosts: [localhost, ops.example.com]}}\n", `localhost,ops.example.com: "ops.example.com" can be made to point here by others: it needs basic`},
		{one + "http: {dashboard: {hide_paths: [a, 'b..c']}}\n", `:4: http.dashboard.hide_paths[1] = "b..c": must be names`},
		{one + "http: {dashboard: {trace_url: '/nowhere/{id}'}}\n", `:4: http.dashboard.trace_url = "/nowhere/{id}": must be an address`},
		{one + "http: {dashboard: {protobuf: ['a=b.C']}}\n", `:4: http.dashboard.protobuf[0] = "a=b.C": needs a file`},
		{one + "http: {dashboard: {descriptors: /nowhere, protobuf: ['a=b.C']}}\n", `:4: http.dashboard.descriptors = "/nowhere": open`},
		{one + "http: {dashboard: {}}\nkeys: /nowhere\n", `:5: keys: "/nowhere": stat /nowhere`},
		{one + "http: {dashboard: {}}\nkeys: /etc/hosts\n", `:5: keys: "/etc/hosts": is not a directory`},
		{one + "http: {dashboard: {}}\nregistry: 'registry:8081'\n", `:5: registry: "registry:8081": must be a URL`},
		{one + "http: {dashboard: {}}\nregistry: 'ftp://u:secret@registry'\n", `:5: registry: "ftp://u:***@registry": must be a URL`},
		{one + "http: {dashboard: {read_only: si}}\n", `:4: http.dashboard.read_only: "si": must be one of`},
		{one + "http: {dashboard: {basik: x}}\n", `:4: unknown field "http.dashboard.basik"`},
		{one + "metrics: {listen: 'x:y'}\n", `:4: metrics.listen: "x:y": must be host:port`},
		{one + "metrics: {listen: ':0', interval: 1ms}\n", `:4: metrics.interval = 1ms: must be at least 1s`},
		{one + "otlp: {endpoint: 'collector:4318'}\n", `:4: otlp.endpoint: "collector:4318": must be the URL of a collector`},
		{one + "otlp: {}\n", `:4: otlp.endpoint: is required`},
		{one + "log: {level: loud}\n", `:4: log.level: "loud": must be one of`},
		{one + "log: {format: xml}\n", `:4: log.format: "xml": must be one of`},
		{head + "outboxes: [{name: '${env:NOBODY}', relays: [{sink: {kafka: {}}}]}]\n", `:3: outboxes[0].name: ${env:NOBODY}: the variable NOBODY is not set`},
	} {
		path := filepath.Join(t.TempDir(), "leat.yaml")
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		r := o.leat("run", "--config", path)
		require.Equal(t, 2, r.code, "%s\n%s%s", c.text, r.out, r.err)
		require.Contains(t, r.err, c.want, c.text)
		require.Contains(t, r.err, path, c.text)
		require.Equal(t, settings.InFile(r.err), r.err, "fields have the names of the file")
	}
	r := o.leat("run")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.err, "no file")

	good := written(t, "good.yaml", one+"profiles:\n  staging:\n    outboxes: [{name: shop, relays: [{slots: 65, sink: {kafka: {}}}]}]\n")
	lint := o.leat("config", "lint", good)
	require.Equal(t, 5, lint.code)
	require.Contains(t, lint.out, good+":6")
	require.Equal(t, 1, strings.Count(lint.out, "slots = 65"))
}
