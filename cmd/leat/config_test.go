package main_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/outbox/amqpsink"
	"github.com/leat-go/leat/outbox/httpsink"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/natssink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/redissink"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/sqloutbox"
	"github.com/leat-go/leat/outbox/wmforward"
)

func itoa(n int) string { return strconv.Itoa(n) }

func sortedLines(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const goodConfig = `database: postgres://ann:${env:PASSWORD}@db/shop
output: json
kafka:
  brokers: k1:9092, k2:9092
profiles:
  production:
    database: postgres://ops@db.example/shop?password=hunter2
    schema: shop
    kafka: {brokers: 'p1:9092', tls: true, sasl: plain, user: ops, password: "${env:PASSWORD}"}
`

// A flag counts before a variable, that before the file, and that before the default; no
// secret is shown.
func TestConfig_Show(t *testing.T) {
	t.Parallel()
	o := newSession(t, "")
	file := written(t, "leat.yaml", goodConfig)
	o.env = append(o.env, "PASSWORD=secret", "LEAT_CONFIG="+file, "LEAT_INBOX=in")
	o.run(0, "config", "show")
	o.run(0, "config", "show", "--profile", "production", "-o", "table", "--time", "utc")
	o.run(0, "config", "lint")
	require.NotContains(t, o.transcript.String(), "secret")
	require.NotContains(t, o.transcript.String(), "hunter2")
	o.run(2, "config", "show", "--profile", "staging")
	o.golden("config-show")
	o.env = append(o.env, "LEAT_SCHEMA=env")
	require.Contains(t, o.leat("config", "show", "--profile", "production").out, `{"name":"schema","value":"env","from":"LEAT_SCHEMA"}`)
	require.Contains(t, o.leat("config", "show", "--schema", "flag").out, `{"name":"schema","value":"flag","from":"--schema"}`)
}

// What ${file:PATH} has read is shown by nothing, wherever a configuration has it.
func TestS15_ValuesOfFilesAreNotShown(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`hunter "22" é`, "hunter/22@x y"} {
		o := newSession(t, "")
		secret := written(t, "secret", value+"\n")
		for _, text := range []string{
			"database: ${file:SECRET}\n", "database: 'postgres://ann:${file:SECRET}@db:port/shop'\n", "database: 'ann:${file:SECRET}@tcp(db)/shop'\n",
			"database: 'mysql://ann:${file:SECRET}@db'\n", "schema: ${file:SECRET}\n", "outbox: '${file:SECRET}'\n", "output: ${file:SECRET}\n",
			"kafka: {brokers: '${file:SECRET}'}\n", "kafka: {brokers: 'k:1', user: '${file:SECRET}', password: '${file:SECRET}', sasl: '${file:SECRET}'}\n",
			"outboxes: [{name: a, database: '${file:SECRET}', relays: [{slo: '${file:SECRET}', group: '${file:SECRET}', sink: {amqp: {urls: ['${file:SECRET}']}}}]}]\n",
			"outboxes: [{name: a, relays: [{sink: {redis: {url: 'redis://a:${file:SECRET}@h/x', sentinels: ['${file:SECRET}'], ack: '${file:SECRET}'}}}, {group: b, start: now, sink: {nats: {urls: ['nats://${file:SECRET}@h', 'x://${file:SECRET}'], credentials_file: '${file:SECRET}'}}}]}]\n",
			"outboxes: [{name: a, relays: [{sink: {http: {url: '${file:SECRET}', secrets: ['${file:SECRET}']}}}]}]\nlog: {level: '${file:SECRET}'}\n",
		} {
			file := written(t, "leat.yaml", strings.ReplaceAll(text, "SECRET", secret))
			for _, args := range [][]string{{"config", "lint"}, {"config", "show"}, {"status"}, {"run"}} {
				r := o.leat(append(args, "--config", file)...)
				for _, shown := range []string{"hunter", "22@x"} {
					require.NotContains(t, r.out+r.err, shown, "%s: %q", args, text)
				}
			}
		}
	}
}

// A file whose aliases say more than it has is refused at once, by whatever reads it.
func TestS14_AliasBomb(t *testing.T) {
	t.Parallel()
	o := newSession(t, "")
	for _, text := range append(bombs(), strings.Repeat("# comment\n", 200_000)) {
		file := written(t, "leat.yaml", text)
		for _, args := range [][]string{{"config", "lint"}, {"config", "show"}, {"run"}} {
			r := o.leat(append(args, "--config", file)...)
			require.Contains(t, []int{2, 5}, r.code)
			require.Contains(t, r.out+r.err, "is too large: ", "%s: %.40q", args, text)
			require.Less(t, len(r.out+r.err), 50_000)
		}
	}
}

// bombs are files of kilobytes whose aliases stand for millions of values.
func bombs() []string {
	thousand := func(name string) string { return "[" + strings.Repeat("*"+name+",", 1000) + "]" }
	var profiles strings.Builder
	for i := range 1000 {
		profiles.WriteString("  b" + itoa(i) + ": *a\n")
	}
	return []string{
		"outboxes:\n- relays:\n  - &r {policies: [&p {topics: x}, {}]}\n- &o {relays: " + thousand("r") + "}\n" + strings.Repeat("- *o\n", 1000),
		"inboxes: [&i {name: x}]\nprofiles:\n  a: &a {inboxes: " + thousand("i") + "}\n" + profiles.String(),
		"profiles:\n  a: &a {kafka: {x: 1}" + strings.Repeat(", y: 1", 5000) + "}\n  b: {" + strings.Repeat("<<: *a, ", 5000) + "}\n",
	}
}

// Whatever is wrong with a file is told with its line.
func TestConfig_Lint(t *testing.T) {
	t.Parallel()
	o := newSession(t, "")
	for _, c := range []struct{ name, text string }{
		{"unknown.yaml", "databse: x\noutput: json\nkafka: {broker: y}\n"},
		{"form.yaml", "database: [1, 2]\n"},
		{"syntax.yaml", "database: \"x\nschema: y\n"},
		{"two.yaml", "schema: a\n---\nschema: b\n"},
		{"values.yaml", "output: xml\ntime: soon\nschema: \"a\\0b\"\ndatabase: redis://db/shop\n"},
		{"sql.yaml", "database: mysql://ann:secret@db/shop\nschema: shop\noutbox: \"a b\"\n"},
		{"variables.yaml", "schema: leat\ndatabase: postgres://ann:${env:NOBODY}@db/shop\nactor: ${file:/nowhere}\nprofiles:\n  p: {inbox: \"${home}\"}\n"},
		{"kafka.yaml", "kafka: {brokers: k1, tls: perhaps}\nprofiles:\n  p: {kafka: {brokers: 'k1:1', sasl: gssapi}}\n"},
	} {
		path := written(t, c.name, c.text)
		o.run(5, "config", "lint", path)
	}
	o.run(2, "config", "lint", "/nowhere/leat.yaml")
	o.run(2, "config", "lint")
	o.golden("config-lint")
	broken := written(t, "leat.yaml", "databse: x\n")
	o.env = append(o.env, "LEAT_CONFIG="+broken)
	r := o.leat("status")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.err, broken+`:1: unknown field "databse"`)
	require.Equal(t, 5, o.leat("config", "lint").code)
}

// The schema knows what the file may have.
func TestConfig_Schema(t *testing.T) {
	t.Parallel()
	var schema struct {
		Properties map[string]struct {
			Properties           map[string]any
			AdditionalProperties json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal([]byte(newSession(t, "").leat("config", "schema").out), &schema))
	require.Contains(t, schema.Properties, "database")
	require.Contains(t, schema.Properties["kafka"].Properties, "ca_file")
	require.JSONEq(t, "false", string(schema.Properties["kafka"].AdditionalProperties))
	require.Contains(t, string(schema.Properties["profiles"].AdditionalProperties), `"ca_file"`)
}

// notInFile are fields of Go that whoever deploys or is on call does not need, each with the reason.
var notInFile = map[string]string{
	"relay.Config.Expect":      "it is of the outbox there",
	"relay.Config.TotalOrder":  "order says it",
	"relay.Config.PollMin":     "poll_max bounds what an idle outbox costs; the shortest wait is that of a busy one, whose reads find something",
	"relay.Config.BackoffMin":  "backoff_max and attempts say how long a destination may fail until its records are parked; the first wait hardly counts",
	"relay.Config.SuspectKeys": "it only says how soon failures for unknown reasons count as an outage, which ends by itself",

	"pgoutbox.Config.MaxPayloadBytes":     "of producers",
	"pgoutbox.Config.UnorderedKeys":       "of producers",
	"pgoutbox.Config.InsertAtOnce":        "of producers",
	"pgoutbox.Config.MaxKeyLocks":         "of producers",
	"pgoutbox.Config.NotifyInterval":      "of producers",
	"pgoutbox.Config.MigrateLockTimeout":  "a flag of leat migrate up: a daemon migrates nothing",
	"pgoutbox.SourceConfig.SyncPositions": "exactly_once sets it",

	"pgoutbox.MaintenanceConfig.LockTimeout": "it must stay below the server's deadlock_timeout; a round that waited in vain is repeated",
	"pgoutbox.MaintenanceConfig.MaxTailScan": "doctor tells of a larger tail, and its messages are deleted meanwhile",
	"pgoutbox.MaintenanceConfig.DeleteChunk": "it cuts work into statements, and changes no result",
	"pgoutbox.MaintenanceConfig.WarnAt":      "alert rules have thresholds of their own",
	"pgoutbox.MaintenanceConfig.DelayedPoll": "a second; a shorter one costs queries, a longer one delays",

	"sqloutbox.Config.MaxPayloadBytes":        "of producers",
	"sqloutbox.Config.UnorderedKeys":          "of producers",
	"sqloutbox.MaintenanceConfig.DeleteChunk": "it cuts work into statements, and changes no result",
	"sqloutbox.MaintenanceConfig.DelayedPoll": "a second; a shorter one costs queries, a longer one delays",

	"wmforward.Config.Topic":              "forwarder says it",
	"wmforward.Config.Group":              "it is of the relay there",
	"wmforward.Config.OffsetsTable":       "who has renamed Watermill's tables has written Go",
	"wmforward.Config.StateTable":         "who has renamed Watermill's tables has written Go",
	"wmforward.Config.ConsumerGroup":      "who has renamed Watermill's consumer group has written Go",
	"wmforward.Config.Shadow":             "for a trial beside the forwarder, which a migration does once",
	"wmforward.Config.TakeOverTimeout":    "it follows from the lease",
	"wmforward.Config.MigrateLockTimeout": "a flag of leat migrate up: a daemon migrates nothing",

	"kafkasink.Config.TopicTimeout":  "a new topic delays its page once, by a second",
	"amqpsink.Config.ConnectionName": "it is shown in RabbitMQ's management only, which has the address, too",
	"httpsink.Config.LookupEvery":    "endpoints of a file do not change",
	"httpsink.Config.MaxRetryAfter":  "an endpoint that asks for more than an hour is not waited for",
	"httpsink.Config.UserAgent":      "receivers know us by the signature",

	"pginbox.MaintenanceConfig.KeepAttempts":  "retention says it",
	"pginbox.MaintenanceConfig.KeepNotes":     "who keeps replies and fingerprints runs maintenance in the service that knows for how long",
	"pginbox.MaintenanceConfig.Lease":         "a takeover of maintenance is not urgent",
	"pginbox.MaintenanceConfig.LockTimeout":   "a round that waited in vain is repeated",
	"pginbox.MaintenanceConfig.DetachTimeout": "nobody waits meanwhile, and the next round goes on",
	"pginbox.MaintenanceConfig.DeleteChunk":   "it cuts work into statements, and changes no result",
	"pginbox.MaintenanceConfig.Needs":         "doctor knows what an inbox should cover, by its flags",
	"sqlinbox.MaintenanceConfig.KeepAttempts": "retention says it",
}

// The file has what Go has, or there is a reason.
func TestConfig_HasWhatGoHas(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, of := range []struct{ library, file any }{
		{relay.Config{}, settings.Relay{}},
		{relay.Policy{}, settings.Policy{}},
		{pgoutbox.Config{}, settings.Outbox{}},
		{pgoutbox.SourceConfig{}, settings.Relay{}},
		{pgoutbox.TailConfig{}, settings.Tail{}},
		{pgoutbox.MaintenanceConfig{}, settings.OutboxMaintenance{}},
		{sqloutbox.Config{}, settings.Outbox{}},
		{sqloutbox.SourceConfig{}, settings.Relay{}},
		{sqloutbox.MaintenanceConfig{}, settings.OutboxMaintenance{}},
		{wmforward.Config{}, settings.Outbox{}},
		{kafkasink.TransactionalConfig{}, settings.KafkaSink{}},
		{kafkasink.Config{}, settings.KafkaSink{}},
		{amqpsink.Config{}, settings.AMQPSink{}},
		{redissink.Config{}, settings.RedisSink{}},
		{natssink.Config{}, settings.NATSSink{}},
		{httpsink.Config{}, settings.HTTPSink{}},
		{httpsink.Endpoint{}, settings.Endpoint{}},
		{pginbox.MaintenanceConfig{}, settings.InboxTables{}},
		{sqlinbox.MaintenanceConfig{}, settings.InboxTables{}},
	} {
		file := map[string]bool{}
		for field := range reflect.TypeOf(of.file).Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			file[strings.ReplaceAll(name, "_", "")] = true
		}
		for field := range reflect.TypeOf(of.library).Fields() {
			name := fmt.Sprintf("%T.%s", of.library, field.Name)
			_, exempt := notInFile[name]
			used[name] = exempt
			if field.Anonymous || ofGo(field.Type) {
				continue
			}
			require.NotEqual(t, exempt, file[strings.ToLower(field.Name)], "%s: in the file, or with a reason why not", name)
		}
	}
	for name := range notInFile {
		require.True(t, used[name], "%s is gone", name)
	}
}

// ofGo reports whether a value of a type is nothing that a file could have: a function, an interface, somebody's configuration.
func ofGo(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Func, reflect.Interface:
		return true
	case reflect.Slice:
		return ofGo(t.Elem())
	case reflect.Pointer:
		return t.Elem() == reflect.TypeFor[slog.Logger]() || t.Elem() == reflect.TypeFor[tls.Config]()
	default:
		return false
	}
}
