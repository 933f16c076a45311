package main_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// carriedOut are the moves of the page, with a test here that does what the page says, or the reason why
// there is none and where it is shown. Tests elsewhere have the path of their package.
var carriedOut = map[string]string{
	"pg_upgrade":                                    "needs a server's files: TestMoves of internal/proof/kafkatest/pginbox",
	"PostgreSQL: dump and restore":                  "TestMoves_DumpAndRestore",
	"blue to green by logical replication":          "TestMoves_BlueToGreen",
	"recovery to a point in time, the same cluster": "TestMoves_PointInTime",
	"failover":                   "has no command: TestMoves of internal/proof/kafkatest/pginbox, TestO2_PromotedReplicaIsTold of internal/proof/sqltest/sqloutbox",
	"failover that lost commits": "its command is that of TestMoves_RenameOfADatabase: TestMoves of internal/proof/kafkatest/pginbox, TestO2_NumbersThatBeganAnewAreRefused of internal/proof/sqltest/sqloutbox",
	"MySQL and MariaDB: dump into another server":    "needs mysqldump, which comes without the servers: TestMoves_MySQL of internal/proof/kafkatest/pginbox copies the rows",
	"staging from a copy":                            "TestMoves_Copy",
	"rename of PostgreSQL's schema":                  "TestMoves_RenameOfTheSchema",
	"rename of a database":                           "TestMoves_RenameOfADatabase",
	"DynamoDB: restore of a backup":                  "DynamoDB Local restores none: TestMoves_DynamoDB of internal/proof/kafkatest/pginbox copies the items",
	"new Kafka cluster, Redis, NATS or RabbitMQ":     "TestMoves_NewBroker",
	"The consumers' offsets, without marks in Kafka": "TestMoves_Rewind",
	"Blue to green, without leat's tables":           "TestMoves_BlueToGreenWithoutOurTables",
}

// TestMoves_EachRow of the page has a test here, or a reason, and one that moves a running service. All of them are there.
func TestMoves_EachRow(t *testing.T) {
	t.Parallel()
	_, text := moves(t, "One row a move")
	var moved []string
	for _, found := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(text, -1)[1:] {
		moved = append(moved, found[1])
	}
	require.Greater(t, len(moved), 10)
	running := sources(t, "internal/proof/kafkatest/pginbox")
	for _, move := range moved {
		require.NotEmpty(t, carriedOut[move], "the row %q", move)
		if !strings.HasPrefix(move, "MySQL") && !strings.HasPrefix(move, "DynamoDB") {
			require.Contains(t, running, `"`+move+`":`, "TestMoves")
		}
	}
	for move, test := range carriedOut {
		shown := regexp.MustCompile(`\b(Test\w+)(?: of ([a-z/]+))?`).FindAllStringSubmatch(test, -1)
		require.NotEmpty(t, shown, move)
		for _, found := range shown {
			require.Contains(t, sources(t, cmp.Or(found[2], "cmd/leat")), "func "+found[1]+"(t *testing.T)", move)
		}
	}
}

// sources are the tests of a package, by its path in the repository.
func sources(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(source)
	}
	return all.String()
}

// row returns the line of a move.
func row(t *testing.T, move string) string {
	t.Helper()
	_, text := moves(t, "One row a move")
	_, line, ok := strings.Cut(text, "\n| "+move+" |")
	require.True(t, ok, move)
	line, _, _ = strings.Cut(line, "\n")
	return line
}

// commands returns the commands of leat in a text of the page, in their order.
func commands(text string) (all []string) {
	for _, found := range regexp.MustCompile("`leat ([^`]+)`|(?m)^ +leat (.+)$").FindAllStringSubmatch(text, -1) {
		all = append(all, found[1]+found[2])
	}
	return all
}

// rebase does what a command of the page says, for each of the groups.
func (s *session) rebase(command string, groups ...string) {
	s.t.Helper()
	require.True(s.t, strings.HasPrefix(command, "rebase "), command)
	for _, group := range groups {
		args := strings.Fields(strings.ReplaceAll(command, "GROUP", group))
		s.run(0, append(args, "--reason", "moved", "--yes")...)
	}
}

// program runs a shell's command line with the programs of the server first.
func (s *shop) program(t *testing.T, line string) {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "sh", "-c", line)
	programs := ask[string](t, s, "SELECT setting FROM pg_config WHERE name = 'BINDIR'")
	shell.Env = append(os.Environ(), "PATH="+programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // without a terminal, on which psql would ask for a password
	out, err := shell.CombinedOutput()
	require.NoError(t, err, string(out))
}

// TestMoves_DumpAndRestore: what is not settled is sent, once, and what is parked, delayed and remembered
// comes along.
//
//leat:level 4
func TestMoves_DumpAndRestore(t *testing.T) {
	t.Parallel()
	settings := testenv.PostgresOptions{Settings: map[string]string{"fsync": "off"}}
	from := newShop(t)
	to := newShopIn(t, testenv.PrivatePostgres(t, settings).Database(t))
	require.NoError(t, from.inbox(t, "shipping", inbox.Config{}).Migrate(t.Context()))
	from.maintain(t)
	from.trouble(t)
	delivered := newIDs(t, 2)
	from.deliver(t, delivered[0])
	from.enqueue(t, placed("m-8", "orders", "order-8", "fine"))
	require.Equal(t, []string{"m-8"}, from.send(t))
	from.enqueue(t, placed("m-9", "orders", "order-8", "fine"))

	from.program(t, "pg_dump '"+from.URL+"' | psql -q -v ON_ERROR_STOP=1 '"+to.URL+"'")
	require.ErrorIs(t, to.source(t, "").Check(t.Context()), driver.ErrSourceUnusable, "until it is rebased")
	o := newSession(t, to.URL)
	_, sequences := moves(t, "Sequences")
	require.Equal(t, []string{"doctor --only sequence.value"}, commands(sequences))
	require.Equal(t, doctor.OK, o.verdict("sequence.value", "").Verdict, "a dump brings their values along")
	line := row(t, "PostgreSQL: dump and restore")
	require.Contains(t, line, "stop all; dump; restore")
	o.rebase(commands(line)[0], "default", "mail")
	require.Equal(t, []string{"m-9"}, to.send(t))
	to.enqueue(t, placed("m-10", "orders", "order-8", "fine"))
	require.Equal(t, []string{"m-10"}, to.send(t))
	for _, table := range []string{"leat.outbox_held", "leat.outbox_dead", "leat.outbox_delayed"} {
		count := "SELECT count(*)::int FROM " + table
		require.Equal(t, ask[int](t, from, count), ask[int](t, to, count), table)
	}
	require.Equal(t, []inbox.Outcome{inbox.OutcomeDuplicate, inbox.OutcomeCommitted}, to.deliver(t, delivered...))
}

// TestMoves_PointInTime: relays go on where the database stands. What was sent and lost is not sent, what it
// has and had sent is sent again, and the status tells of another timeline.
//
//leat:level 4
func TestMoves_PointInTime(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{
		"fsync": "off", "restore_command": "false", "recovery_target_name": "before", "recovery_target_action": "promote", "wal_keep_size": "1GB",
	}})
	s := newShopIn(t, server.Database(t, migrated()))
	require.Empty(t, s.send(t))
	restore := server.Backup()
	s.Pool.Reset()
	s.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
	s.execute(t, "SELECT pg_create_restore_point('before')")
	s.enqueue(t, placed("m-2", "orders", "order-1", "fine"))
	require.Equal(t, []string{"m-1", "m-2"}, s.send(t))

	line := row(t, "recovery to a point in time, the same cluster")
	require.Contains(t, line, "start relays, which go on where the database stands")
	restore()
	s.Pool.Reset()
	s.enqueue(t, placed("m-3", "orders", "order-1", "fine"))
	require.Equal(t, []string{"m-1", "m-3"}, s.send(t))
	require.Contains(t, newSession(t, s.URL).leat("status").out, "the server changed from timeline 1 to timeline 2")
}

// TestMoves_Copy: relays refuse a copy until it is rebased to send nothing of what is there. A place that
// is stated keeps them from it from the beginning.
//
//leat:level 2
func TestMoves_Copy(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
	require.Equal(t, []string{"m-1"}, s.send(t))
	s.enqueue(t, placed("m-2", "orders", "order-1", "fine"), placed("m-3", "orders", "order-1", "fine"))
	staging := newShopWithout(t)
	s.program(t, "pg_dump '"+s.URL+"' | psql -q -v ON_ERROR_STOP=1 '"+staging.URL+"'") // CREATE DATABASE … TEMPLATE wants to be alone
	require.ErrorIs(t, staging.source(t, "").Check(t.Context()), driver.ErrSourceUnusable)

	raw, err := os.ReadFile("../../docs/moves.md")
	require.NoError(t, err)
	_, yaml, ok := strings.Cut(string(raw), "```yaml\n")
	require.True(t, ok)
	yaml, _, _ = strings.Cut(yaml, "```")
	file := strings.Replace(yaml, "database: shop", "database: "+s.Name, 1) + "    relays: [{sink: {kafka: {}}}]\nkafka: {brokers: '127.0.0.1:1'}\n"
	newSession(t, s.URL).run(0, "config", "lint", written(t, "leat.yaml", file))
	sink, err := relay.Func(func(context.Context, outbox.Record) error { return nil }, relay.FuncConfig{})
	require.NoError(t, err)
	for store, want := range map[*shop]error{s: nil, staging: driver.ErrSourceUnusable} {
		r, err := relay.New(store.source(t, "another"), sink, relay.Config{Expect: driver.Place{Database: s.Name}})
		require.NoError(t, err)
		_, err = r.RunOnce(t.Context())
		require.ErrorIs(t, err, want)
	}

	_, text := moves(t, "A copy")
	now := commands(text)
	require.Len(t, now, 1)
	o := newSession(t, staging.URL)
	tooFew := strings.Fields(strings.NewReplacer("GROUP", "default", "--leave-out N", "--leave-out 1").Replace(now[0]))
	require.NotZero(t, o.leat(append(tooFew, "--reason", "staging", "--yes")...).code, "two are left out")
	o.rebase(strings.ReplaceAll(now[0], "--leave-out N", "--leave-out 2"), "default")
	staging.enqueue(t, placed("m-4", "orders", "order-1", "fine"))
	require.Equal(t, []string{"m-4"}, staging.send(t))
	require.Equal(t, []string{"m-2", "m-3"}, s.send(t), "the original goes on")
}

// TestMoves_RenameOfTheSchema: functions and views follow by the statement of doctor.
//
//leat:level 2
func TestMoves_RenameOfTheSchema(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
	line := row(t, "rename of PostgreSQL's schema")
	rename := regexp.MustCompile("`(ALTER SCHEMA [^`]+)`").FindStringSubmatch(line)
	require.NotEmpty(t, rename)
	s.execute(t, rename[1])
	require.Equal(t, []string{"doctor --only schema.shape"}, commands(line))
	o := newSession(t, s.URL)
	o.env = append(o.env, "LEAT_SCHEMA=shop")
	_, statement, ok := strings.Cut(o.verdict("schema.shape", "functions and views").Advice, "stopped: ")
	require.True(t, ok)
	s.execute(t, statement)
	require.Equal(t, doctor.OK, o.verdict("schema.shape", "").Verdict)
	renamed, err := pgoutbox.New(s.Pool, pgoutbox.Config{Schema: "shop"})
	require.NoError(t, err)
	there := &shop{s.Database, renamed}
	there.enqueue(t, placed("m-2", "orders", "order-1", "fine"))
	require.Equal(t, []string{"m-1", "m-2"}, there.send(t))
}

// TestMoves_RenameOfADatabase: MySQL and MariaDB move the tables, which relays refuse until a rebase.
//
//leat:level 2
func TestMoves_RenameOfADatabase(t *testing.T) {
	t.Parallel()
	onSQL(t, func(t *testing.T, s *sqlShop) {
		if s.dialect == outbox.SQLite {
			return // a file that is renamed is no other one
		}
		s.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
		var from string
		require.NoError(t, s.db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&from))
		to := testenv.NewDatabaseName("moved")
		exec := func(statement string) {
			_, err := s.db.ExecContext(context.WithoutCancel(t.Context()), statement)
			require.NoError(t, err, statement)
		}
		relayOnce(t, s, "", relay.Policy{}, nothing)
		s.enqueue(t, placed("m-2", "orders", "order-1", "fine"))
		exec("CREATE DATABASE `" + to + "`")
		t.Cleanup(func() { exec("DROP DATABASE `" + to + "`") })
		listed, err := s.db.QueryContext(t.Context(), "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()")
		require.NoError(t, err)
		defer func() { require.NoError(t, listed.Close()) }()
		var tables []string
		for listed.Next() {
			tables = append(tables, "")
			require.NoError(t, listed.Scan(&tables[len(tables)-1]))
		}
		require.NoError(t, listed.Err())
		for _, table := range tables {
			exec(fmt.Sprintf("RENAME TABLE `%s` TO `%s`.`%[1]s`", table, to))
		}
		address := strings.Replace(s.url, from, to, 1)
		o := newSession(t, address)
		require.Equal(t, 5, o.leat("doctor", "--only", "outbox.positions").code, "refused")
		command := commands(row(t, "rename of a database"))
		require.Len(t, command, 1)
		o.rebase(command[0], "default")
		require.Zero(t, o.leat("doctor", "--only", "outbox.positions").code)
	})
}

// TestMoves_NewBroker: a group is drained once it has read the old topics to their end.
//
//leat:level 2
func TestMoves_NewBroker(t *testing.T) {
	t.Parallel()
	g := newDrained(t)
	_, text := moves(t, "A new broker")
	drained := slices.DeleteFunc(commands(text), func(c string) bool { return c == "status" })
	require.Len(t, drained, 1)
	asked := strings.Fields(strings.ReplaceAll(drained[0], "GROUP", g.name))
	g.commit(t, 4)
	require.Equal(t, 5, g.o.leat(asked...).code, "one is left")
	g.commit(t, 5)
	require.Zero(t, g.o.leat(asked...).code)
}

// TestMoves_Rewind: the commands set a group back, and let one go on that the inbox does not know.
//
//leat:level 2
func TestMoves_Rewind(t *testing.T) {
	t.Parallel()
	g := newDrained(t)
	g.commit(t, 5)
	_, text := moves(t, "The consumers' offsets")
	hourAgo := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	var last string
	for _, command := range commands(text) {
		args := strings.Fields(strings.NewReplacer("GROUP", g.name, "2026-01-05T09:55:00Z", hourAgo).Replace(command))
		if args[1] == "rewind" && !strings.Contains(command, "--dry-run") {
			args = append(args, "--yes")
		}
		require.Zero(t, g.o.leat(args...).code, command)
		want := int64(5)
		if last != "" && strings.HasPrefix(last, command) { // after its dry run
			want = 0
		}
		if strings.HasSuffix(command, "--to committed") {
			want = 0 // as it was
		}
		require.Equal(t, want, g.committed(t), command)
		last = command
	}
	require.Contains(t, last, "--to committed", "all were run")
}

// drained is a consumer group beside an inbox.
type drained struct {
	o           *session
	admin       *kadm.Client
	name, topic string
}

func newDrained(t *testing.T) drained {
	t.Helper()
	kafka := testenv.RealKafka(t)
	g := drained{name: kafka.Name("billing"), topic: kafka.Topic(t, "orders", 1)}
	client, err := kgo.NewClient(kgo.SeedBrokers(kafka.Brokers...))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	for range 5 {
		require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: g.topic, Value: []byte("{}")}).FirstErr())
	}
	g.admin = kadm.NewClient(client)
	s := newShop(t)
	in, err := pginbox.New(s.Pool, "billing", pginbox.Config{})
	require.NoError(t, err)
	require.NoError(t, in.Migrate(t.Context()))
	g.o = newSession(t, s.URL)
	g.o.env = append(g.o.env, "LEAT_KAFKA_BROKERS="+strings.Join(kafka.Brokers, ","))
	return g
}

func (g drained) commit(t *testing.T, offset int64) {
	t.Helper()
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: g.topic, Partition: 0, At: offset, LeaderEpoch: -1})
	require.Eventually(t, func() bool { return g.admin.CommitAllOffsets(t.Context(), g.name, offsets) == nil }, patience, 20*time.Millisecond, "a new cluster has no coordinator yet")
}

func (g drained) committed(t *testing.T) int64 {
	t.Helper()
	offsets, err := g.admin.FetchOffsets(t.Context(), g.name)
	require.NoError(t, err)
	at, ok := offsets.Lookup(g.topic, 0)
	require.True(t, ok)
	return at.At
}
