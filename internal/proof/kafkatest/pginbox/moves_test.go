package pginbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/proof/repo"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestMoves moves the database or the broker of a service that runs, by the steps of docs/moves.md and no others: with producers, a
// relay, maintenance, consumers under redelivery, messages that are parked and delayed, and a group that is far behind. It is judged
// by ids, like TestChanges. Its names are those of the page's rows.
//
//leat:level 4
func TestMoves(t *testing.T) {
	t.Parallel()
	root, err := repo.Root(".")
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(root, "docs", "moves.md"))
	require.NoError(t, err)
	leat := filepath.Join(t.TempDir(), "leat")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", filepath.Join(root, "cmd", "leat"), "-ldflags=-s -w", "-o", leat, ".")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	for name, move := range map[string]func(m *moving){
		"pg_upgrade":                                    upgrade,
		"PostgreSQL: dump and restore":                  dumpAndRestore,
		"blue to green by logical replication":          blueToGreen,
		"recovery to a point in time, the same cluster": recoverToAPoint,
		"failover":                                   failOver,
		"failover that lost commits":                 loseCommits,
		"staging from a copy":                        copyForStaging,
		"rename of PostgreSQL's schema":              renameSchema,
		"rename of a database":                       renameDatabase,
		"new Kafka cluster, Redis, NATS or RabbitMQ": changeKafka,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, string(page), "\n| "+name+" |")
			m := &moving{t: t, page: string(page), leat: leat, hangUp: func() {}}
			move(m)
			m.finish()
			wrong := m.judge()
			m.report(name, wrong)
			require.Empty(t, wrong)
		})
	}
}

// moving is a service whose database moves.
type moving struct {
	*world

	t          *testing.T
	page, leat string // docs/moves.md, and the command
	at         place
	pool       *pgxpool.Pool
	hangUp     func()                          // closes pool
	maintains  func(ctx context.Context) error // the maintenance, which stops and starts with the service
	kept       func() error                    // stops it
	stood      time.Duration                   // how long nothing was sent
	lost       int                             // how many commits the database has lost
}

// postgres starts a server with settings, each a name and a value.
func (m *moving) postgres(settings ...string) *testenv.PostgresServer {
	m.t.Helper()
	all := map[string]string{}
	for pair := range slices.Chunk(settings, 2) {
		all[pair[0]] = pair[1]
	}
	return testenv.PrivatePostgres(m.t, testenv.PostgresOptions{Settings: all})
}

// begin starts the service, and lets it work until it has everything that a move can lose.
func (m *moving) begin(server *testenv.PostgresServer, standbys ...string) {
	m.t.Helper()
	m.at = place{append([]string{server.Address()}, standbys...), server.Database(m.t, template).Name, "leat"}
	m.t.Cleanup(func() { m.hangUp() })
	m.world = newWorld(m.t, m.open)
	m.repeats = true
	m.refuses.Store(true)
	m.keep()
	m.runRelay()
	m.runConsumer()
	m.parked()
	m.effects("billed")
	_, err := m.commit(m.orders, "", 15*time.Second)
	require.NoError(m.t, err)
	m.sending.begin()
}

// open opens the database of the service.
func (m *moving) open(_ *testing.T, log *slog.Logger) (s store) {
	m.t.Helper()
	s, m.pool, m.hangUp = m.connect(m.at, log)
	m.maintains = s.maintain
	s.maintain = func(ctx context.Context) error { <-ctx.Done(); return nil }
	return s
}

// keep runs the maintenance.
func (m *moving) keep() {
	ctx, cancel := context.WithCancel(context.Background())
	ended, maintain := make(chan error, 1), m.maintains
	go func() { ended <- maintain(ctx) }()
	m.kept = sync.OnceValue(func() error { cancel(); return <-ended })
	m.closing = append(m.closing, m.kept)
}

// connect opens a database in which each message is also in a table of the service, as business data is: it tells which commits there
// were.
func (m *moving) connect(p place, log *slog.Logger) (s store, pool *pgxpool.Pool, hangUp func()) {
	m.t.Helper()
	pool, err := pgxpool.NewWithConfig(context.Background(), p.config(m.t))
	require.NoError(m.t, err)
	db := stdlib.OpenDBFromPool(pool)
	hangUp = sync.OnceFunc(func() { _ = db.Close(); pool.Close() })
	s, ob := storeOf(m.t, log, pool, db, p.schema)
	_, err = pool.Exec(m.t.Context(), "CREATE TABLE IF NOT EXISTS committed (no SERIAL PRIMARY KEY, id varchar(200) NOT NULL)")
	require.NoError(m.t, err)
	s.put = func(ctx context.Context, msg outbox.Message) error {
		return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO committed (id) VALUES ($1)", string(msg.Payload)); err != nil {
				return err
			}
			return ob.Enqueue(ctx, tx, msg)
		})
	}
	cfg := pginbox.Config{Schema: p.schema, Config: inbox.Config{Logger: log}}
	s.marks, err = pginbox.New(pool, "marks", cfg)
	require.NoError(m.t, err)
	box, err := pgoutbox.NewMaintenance(ob, pgoutbox.MaintenanceConfig{Interval: time.Second})
	require.NoError(m.t, err)
	ids, err := pginbox.NewMaintenance(pool, cfg, pginbox.MaintenanceConfig{Interval: time.Second})
	require.NoError(m.t, err)
	if m.world == nil {
		require.NoError(m.t, ids.Enable(m.t.Context()))
	}
	s.maintain = func(ctx context.Context) error {
		ended := make(chan error, 1)
		go func() { ended <- ids.Run(ctx) }()
		return errors.Join(box.Run(ctx), <-ended)
	}
	return s, pool, hangUp
}

func (m *moving) runRelay() {
	m.t.Helper()
	m.relay(group{Slots: 2}, relay.Config{Lease: 3 * time.Second, PublishTimeout: time.Second, LeaseMargin: 500 * time.Millisecond}, m.sink())
}

// runConsumer runs the one that does not lag. Its groups read all messages each, so that each comes twice.
func (m *moving) runConsumer() {
	m.t.Helper()
	for _, name := range prompt {
		m.consume(m.kafkasource(name), "prompt", manner{Config: parks()}, "billed")
	}
}

// stopWorkers stops relays and consumers.
func (m *moving) stopWorkers() {
	m.t.Helper()
	for _, c := range m.consumers {
		c.stop()
	}
	m.stopped(m.relays...)
	m.consumers, m.relays = nil, nil
}

// stopAll stops producers, relays, consumers and maintenance.
func (m *moving) stopAll() {
	m.t.Helper()
	m.stopWriting()
	m.stopWorkers()
	m.stopped(m.kept)
	m.hangUp()
}

// startAll starts all of them where the database is now.
func (m *moving) startAll() {
	m.t.Helper()
	m.store = m.open(m.t, m.log.Logger())
	m.keep()
	m.runRelay()
	m.runConsumer()
	m.startWriting()
}

// mayFail lets producers go on when the database fails.
func (m *moving) mayFail() {
	m.writing.Lock()
	defer m.writing.Unlock()
	m.unsure = map[string]bool{}
}

// survived stops the producers, and returns how many commits the database has lost. What it does not have counts as never committed,
// unless it was sent: then it is in the topic, and has its effects like all that is there.
func (m *moving) survived() (lost int) {
	m.t.Helper()
	m.stopWriting()
	m.pool.Reset()
	has := m.effectsIn("committed")
	sent, _ := m.sent()
	there, known := map[string]bool{}, map[string]bool{}
	for _, id := range has {
		there[id] = true
	}
	for _, id := range sent {
		known[id] = true
	}
	for id := range m.written {
		if there[id] {
			continue
		}
		if !m.unsure[id] {
			lost++
		}
		if !known[id] {
			delete(m.written, id)
		}
	}
	m.lost, m.unsure = lost, nil
	return lost
}

// goesOn waits until the relay works after the move.
func (m *moving) goesOn() {
	m.t.Helper()
	m.progress(20)
	if m.stood == 0 {
		m.stood = m.sending.end()
	}
}

// finish goes on after the move, and has the group that is far behind read everything.
func (m *moving) finish() {
	m.t.Helper()
	if m.quit == nil {
		m.startWriting()
	}
	m.goesOn()
	m.pool.Reset()
	m.effects("billed")
	m.consume(m.kafkasource("late"), "late", manner{Config: parks()}, "shipped")
	m.effects("shipped")
	m.rest()
}

// report logs a row of the table in docs/internals/chaos.md.
func (m *moving) report(move string, wrong []string) {
	all, _ := m.sent()
	m.t.Logf("| %s | %d | %d | %d | %d | %d | %d | %d | %s |", move, len(m.written), m.lost,
		len(all)-len(slices.Compact(slices.Sorted(slices.Values(all)))), m.again.Load(), ofKind(wrong, "lost"), ofKind(wrong, "doubled"), ofKind(wrong, "out of order"), m.stood.Round(100*time.Millisecond))
}

// upgrade has pg_upgrade make another cluster, of a newer version if two are installed.
func upgrade(m *moving) {
	from, to := testenv.PrivatePostgres(m.t, testenv.PostgresOptions{Oldest: true}), m.postgres()
	m.begin(from)
	m.stopAll()
	to.UpgradeFrom(from)
	m.t.Logf("from %s to %s", from.Version(), to.Version())
	m.at.hosts = []string{to.Address()}
	m.operate(m.at, "leat rebase --group GROUP --keep-position")
	m.startAll()
	m.goesOn()
	m.healthy()
}

func dumpAndRestore(m *moving) {
	other := m.postgres()
	there := place{[]string{other.Address()}, "postgres", ""}
	m.begin(m.postgres())
	m.stopAll()
	m.shell("pg_dump -Fc '" + m.at.url() + "' | pg_restore -C -d '" + there.url() + "'")
	m.at.hosts = there.hosts
	require.Empty(m.t, m.advice("sequence.value"))
	m.operate(m.at, "leat rebase --group GROUP --start unsettled")
	m.startAll()
}

// blueToGreen replicates everything under load until the switch.
func blueToGreen(m *moving) {
	blue, green := m.postgres("wal_level", "logical"), m.postgres("wal_level", "logical")
	there := place{[]string{green.Address()}, green.Database(m.t).Name, "leat"}
	m.begin(blue)
	_, section, ok := strings.Cut(m.page, "\n## Blue to green\n")
	require.True(m.t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	var steps []string
	for _, found := range regexp.MustCompile("(?s)```(?:sql|sh)\n(.*?)```").FindAllStringSubmatch(section, -1) {
		steps = append(steps, strings.TrimSpace(found[1]))
	}
	require.Len(m.t, steps, 5)

	m.sql(m.at, steps[0])
	m.await("maintenance has made ranges ahead", func() bool {
		return ask[bool](m, m.at, `SELECT (SELECT count(*) >= 15 + 2 FROM pg_inherits WHERE inhparent = 'leat.outbox'::regclass)
			AND (SELECT count(*) >= 30 + 1 FROM pg_inherits WHERE inhparent = 'leat.inbox_ranges'::regclass)`)
	})
	m.shell(strings.NewReplacer(" blue ", " '"+m.at.url()+"' ", "psql green", "psql -q -v ON_ERROR_STOP=1 '"+there.url()+"'").Replace(steps[1]))
	m.sql(there, strings.Replace(steps[2], "host=blue dbname=shop", m.at.url(), 1))
	m.await("green has copied all tables", func() bool {
		return ask[bool](m, there, "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel")
	})
	m.progress(50)
	m.effects("billed")

	m.stopAll()
	end := ask[string](m, m.at, "SELECT pg_current_wal_lsn()::text")
	m.await("green has everything", func() bool { return ask[bool](m, m.at, strings.ReplaceAll(steps[3], "LSN", end)) })
	m.sql(there, steps[4])
	m.at = there
	m.sql(m.at, m.advice("sequence.value"))
	m.step("sequences of your own tables")
	m.sql(m.at, `SELECT setval('committed_no_seq', (SELECT max(no) FROM committed)), setval('billed_no_seq', (SELECT max(no) FROM billed))`)
	m.operate(m.at, "leat rebase --group GROUP --start unsettled")
	m.startAll()
}

// recoverToAPoint goes back behind what was sent and processed.
func recoverToAPoint(m *moving) {
	server := m.postgres("restore_command", "false", "recovery_target_name", "before", "recovery_target_action", "promote", "wal_keep_size", "1GB")
	restore := server.Backup()
	m.begin(server)
	m.sql(m.at, "SELECT pg_create_restore_point('before')")
	m.progress(100)
	m.effects("billed")
	m.mayFail()
	m.stopWorkers()
	restore()
	m.runRelay()
	m.goesOn()
	m.runConsumer()
	m.says("reading again from where the database stands")
	require.NotZero(m.t, m.survived(), "commits are lost")
}

// failOver loses the primary. The standby has all that is committed.
func failOver(m *moving) {
	server := m.postgres("synchronous_standby_names", "*")
	standby := server.Standby(m.t)
	m.step("`target_session_attrs=read-write`")
	m.begin(server, standby.Address())
	m.mayFail()
	server.Stop("immediate")
	standby.Promote()
	m.goesOn()
	m.healthy()
	require.Zero(m.t, m.survived(), "commits are lost")
}

// loseCommits loses the primary. The standby has received nothing for a while.
func loseCommits(m *moving) {
	server := m.postgres()
	standby := server.Standby(m.t)
	m.begin(server, standby.Address())
	standby.Cut()
	m.progress(100)
	m.effects("billed")
	m.mayFail()
	server.Stop("immediate")
	standby.Promote()
	m.goesOn()
	m.healthy()
	m.says("reading again")
	require.NotZero(m.t, m.survived(), "commits are lost")
}

// copyForStaging copies the database in two ways. The original goes on, and nothing is sent a second time.
func copyForStaging(m *moving) {
	m.begin(m.postgres())
	server := place{m.at.hosts, "postgres", ""}
	m.stopAll() // PostgreSQL wants it
	m.sql(server, "CREATE DATABASE by_template TEMPLATE "+m.at.database)
	m.startAll()
	m.goesOn()
	m.sql(server, "CREATE DATABASE by_dump")
	for _, name := range []string{"by_template", "by_dump"} {
		there := place{m.at.hosts, name, "leat"}
		if name == "by_dump" {
			_, err := m.commit(m.orders, "", 15*time.Second)
			require.NoError(m.t, err)
			m.shell("pg_dump -Fc '" + m.at.url() + "' | pg_restore -d '" + there.url() + "'")
		}
		m.stage(there)
	}
}

// stage runs relays on a copy: they refuse, until it is made ready by the steps of the page, and send nothing of what is in it.
func (m *moving) stage(p place) {
	m.t.Helper()
	there, _, hangUp := m.connect(p, m.log.Logger())
	defer hangUp()
	var mu sync.Mutex
	var sent []string
	sink, err := relay.Func(func(_ context.Context, r outbox.Record) error {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, string(r.Payload))
		return nil
	}, relay.FuncConfig{})
	require.NoError(m.t, err)
	relayOnce := func() error {
		source, err := there.source(group{Slots: 2})
		require.NoError(m.t, err)
		r, err := relay.New(source, sink, relay.Config{Logger: m.log.Logger()})
		require.NoError(m.t, err)
		_, err = r.RunOnce(m.t.Context())
		return err
	}
	require.ErrorIs(m.t, relayOnce(), driver.ErrSourceUnusable)

	const kept = "SELECT (SELECT count(*) FROM leat.outbox_delayed) * (SELECT count(*) FROM leat.outbox_held)"
	require.NotZero(m.t, ask[int64](m, p, kept), "the copy has delayed messages, and some that are set aside")
	m.sql(p, m.step("DELETE FROM leat.outbox_delayed; DELETE FROM leat.outbox_held;"))
	const now = "leat rebase --group GROUP --start now --leave-out N"
	var plan struct {
		LeavesOut int64 `json:"leaves_out"`
	}
	m.await("the original's lease, which came along, has ended", func() bool {
		out, err := m.command(p, now, "--leave-out N", "--dry-run -o json")
		return err == nil && json.Unmarshal([]byte(out), &plan) == nil
	})
	m.operate(p, now, "--leave-out N", fmt.Sprint("--leave-out ", plan.LeavesOut))
	require.NoError(m.t, there.put(m.t.Context(), outbox.Message{Topic: m.orders, Key: "copy", Payload: []byte("of the copy")}))
	require.NoError(m.t, relayOnce())
	require.Equal(m.t, []string{"of the copy"}, sent)
}

func renameSchema(m *moving) {
	m.begin(m.postgres())
	m.stopAll()
	m.sql(m.at, m.step("ALTER SCHEMA leat RENAME TO shop"))
	m.at.schema = "shop"
	_, statement, ok := strings.Cut(m.advice("schema.shape"), "stopped: ")
	require.True(m.t, ok)
	m.sql(m.at, statement)
	m.startAll()
}

func renameDatabase(m *moving) {
	m.begin(m.postgres())
	m.stopAll()
	m.sql(place{m.at.hosts, "postgres", ""}, "ALTER DATABASE "+m.at.database+" RENAME TO renamed")
	m.at.database = "renamed"
	m.startAll()
}

// changeKafka drains the topics of one cluster, and goes on with another.
func changeKafka(m *moving) {
	other := testenv.PrivateKafka(m.t)
	m.begin(m.postgres())
	m.consume(m.kafkasource("late"), "late", manner{Config: parks()}, "shipped")
	m.stopWriting()
	m.await("nothing waits, or is retried", func() bool { return m.backlog() == 0 && m.stats().Retrying == 0 })
	m.stopped(m.relays...)
	m.relays = nil
	m.startWriting() // what they write waits
	for _, name := range append(slices.Clone(prompt), "late") {
		m.await(name+" is drained", func() bool {
			_, err := m.command(m.at, "leat inbox lag --group GROUP --drained", "GROUP", m.kafka.Name(name))
			return err == nil
		})
	}
	m.stopWorkers()
	m.former = append(m.former, m.kafka)
	m.kafka = &testenv.KafkaEnv{Brokers: other.Brokers, Real: true, Prefix: m.kafka.Prefix, Version: m.kafka.Version}
	m.kafka.Topic(m.t, "orders", 3)
	m.kafka.Topic(m.t, "mails", 2)
	m.runRelay()
	m.runConsumer()
}
