package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// Names of the databases.
const (
	bankDatabase   = "bank"
	ledgerDatabase = "ledger"
)

// stage is the servers and databases of a run.
type stage struct {
	options Options
	store   store

	server, kafka, redis *testenv.Own  // redis is nil if the store does not need it
	postgres             *testenv.Own  // equal to server if that is PostgreSQL
	bank, ledger         *pgxpool.Pool // pools of PostgreSQL, past all proxies
	client               *kgo.Client
	splits               atomic.Bool // whether the bank's relays reach PostgreSQL through a splitter
	relaysKafka          *toxic      // Kafka as relays reach it
	groupsKafka          *toxic      // Kafka as consumers reach it
	redisProxy           *toxic
	registry             *srfake.Registry // nil if it is not needed
	registryProxy        *toxic           // the registry as processes reach it
	undo                 []func() error

	clocks  string           // directory of the files with the clocks' offsets, if an act moves clocks
	movable string           // program of the processes, if an act moves their clocks; empty for this program
	times   map[string]int64 // by topic, how often it was recreated
	losses  []loss           // periods that the databases have lost
	dumps   int              // number of dumps of deleted topics
}

// openStage starts the servers and prepares them.
func openStage(ctx context.Context, o Options) (st *stage, err error) {
	st = &stage{options: o, times: map[string]int64{}}
	st.store = newStore(st)
	defer func() {
		if err != nil {
			err = errors.Join(err, st.close())
		}
	}()
	if err := st.makeDirs(); err != nil {
		return st, err
	}
	if err := st.openClocks(ctx); err != nil {
		return st, err
	}
	if err := st.startServers(ctx); err != nil {
		return st, err
	}
	if err := st.store.open(ctx); err != nil {
		return st, err
	}
	if err := st.openTopics(ctx); err != nil {
		return st, err
	}
	return st, st.openProxies()
}

// makeDirs creates the directories of a run. It refuses those of an earlier run, since two histories in
// one directory cannot be judged.
func (st *stage) makeDirs() error {
	for _, dir := range []string{st.historyDir(), st.logDir()} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return fmt.Errorf("make a directory: %w", err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("look into the directory: %w", err)
		}
		if len(entries) > 0 {
			return fmt.Errorf("chaos: Dir %q holds another run", st.options.Dir)
		}
	}
	return nil
}

func (st *stage) historyDir() string { return filepath.Join(st.options.Dir, "history") }

func (st *stage) logDir() string { return filepath.Join(st.options.Dir, "logs") }

// later makes close call f.
func (st *stage) later(f func() error) { st.undo = append(st.undo, f) }

// close stops everything that was started, in reverse order.
func (st *stage) close() error {
	var errs []error
	for _, f := range slices.Backward(st.undo) {
		errs = append(errs, f())
	}
	st.undo = nil
	return errors.Join(errs...)
}

// runs reports whether there are processes of a role.
func (st *stage) runs(role string) bool {
	return slices.ContainsFunc(st.store.roster(), func(m member) bool { return m.role == role })
}

// startServers starts all servers at the same time.
func (st *stage) startServers(ctx context.Context) error {
	var errs [3]error
	var group sync.WaitGroup
	group.Go(func() { st.server, errs[0] = st.store.start(ctx) })
	group.Go(func() { st.kafka, errs[1] = testenv.OwnKafka(ctx) })
	if st.runs(roles.Notifier) {
		group.Go(func() { st.redis, errs[2] = testenv.OwnRedis(ctx, nil) })
	}
	group.Wait()
	for _, own := range []*testenv.Own{st.server, st.kafka, st.redis} {
		if own != nil {
			st.later(own.Close)
		}
	}
	return errors.Join(errs[:]...)
}

// serviceUser owns the databases, and all processes log in as this user. It is not a superuser, since row
// level security never applies to those.
const serviceUser = "service"

// database returns the URL of a database at hostPort, for a user.
func (st *stage) database(name, user, hostPort string) (string, error) {
	u, err := url.Parse(st.postgres.Address)
	if err != nil {
		return "", fmt.Errorf("parse the server's URL: %w", err)
	}
	u.Host, u.Path = hostPort, "/"+name
	if user != "" {
		u.User = url.User(user)
	}
	return u.String(), nil
}

func (st *stage) openDatabases(ctx context.Context) (err error) {
	if st.bank, err = st.openDatabase(ctx, bankDatabase, roles.BankSchema); err != nil {
		return err
	}
	if st.ledger, err = st.openDatabase(ctx, ledgerDatabase, roles.LedgerSchema); err != nil {
		return err
	}
	for pool, table := range map[*pgxpool.Pool]string{st.bank: "accounts", st.ledger: "balances"} {
		_, err := pool.CopyFrom(ctx, pgx.Identifier{table}, []string{"name", "balance", "opening"},
			pgx.CopyFromSlice(st.options.Accounts, func(n int) ([]any, error) {
				return []any{roles.Account(n), roles.Opening, roles.Opening}, nil
			}))
		if err != nil {
			return fmt.Errorf("open the %s: %w", table, err)
		}
	}
	return nil
}

// seqBefore is the number before an outbox's first record. It is near the end of the long ranges that an
// outbox begins with, so that short ones follow that can be dropped.
const seqBefore = 39_999_000

// openDatabase makes a database with an outbox.
func (st *stage) openDatabase(ctx context.Context, name, schema string) (*pgxpool.Pool, error) {
	admin, err := pgx.Connect(ctx, st.postgres.Address)
	if err != nil {
		return nil, fmt.Errorf("connect to postgres: %w", err)
	}
	err = makeDatabase(ctx, admin, name)
	if err := errors.Join(err, admin.Close(ctx)); err != nil {
		return nil, err
	}
	pool, err := st.pool(ctx, name, "")
	if err != nil {
		return nil, err
	}
	st.later(func() error { pool.Close(); return nil })
	return pool, st.fill(ctx, name, schema)
}

// makeDatabase makes an empty database, and its owner if that does not exist.
func makeDatabase(ctx context.Context, admin *pgx.Conn, name string) error {
	_, err := admin.Exec(ctx, "CREATE ROLE "+serviceUser+" LOGIN")
	if err != nil && !pgerr.Is(err, pgerr.DuplicateObject) {
		return fmt.Errorf("create role %s: %w", serviceUser, err)
	}
	if _, err = admin.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" OWNER "+serviceUser); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// pool connects to a database as a user, the superuser by default.
func (st *stage) pool(ctx context.Context, name, user string) (*pgxpool.Pool, error) {
	address, err := st.database(name, user, st.postgres.HostPort)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", name, err)
	}
	return pool, nil
}

// fill creates the tables of a database, as its owner.
func (st *stage) fill(ctx context.Context, name, schema string) error {
	pool, err := st.pool(ctx, name, serviceUser)
	if err != nil {
		return err
	}
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	if err := ob.Migrate(ctx); err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, "SELECT setval('leat.outbox_seq_seq', $1::bigint)", seqBefore); err != nil {
		return fmt.Errorf("set the sequence of %s: %w", name, err)
	}
	if _, err := pool.Exec(ctx, schema); err != nil {
		return fmt.Errorf("tables of %s: %w", name, err)
	}
	if name != ledgerDatabase {
		return nil
	}
	in, err := pginbox.New(pool, roles.Ledger, roles.LedgerInbox())
	if err != nil {
		return err
	}
	if err := in.Migrate(ctx); err != nil || st.clocks == "" {
		return err
	}
	forgets, err := pginbox.NewMaintenance(pool, roles.LedgerInbox(), roles.LedgerForgets())
	if err != nil {
		return err
	}
	return forgets.Enable(ctx)
}

// transferPartitions is the number of partitions of the topic of transfers.
const transferPartitions = 8

// bankTopic is the configuration of a topic that refuses huge events, and whose records have the
// time of their arrival.
func bankTopic() map[string]*string {
	appended, limit := "LogAppendTime", strconv.Itoa(roles.MaxMessageBytes)
	return map[string]*string{"message.timestamp.type": &appended, "max.message.bytes": &limit}
}

func (st *stage) openTopics(ctx context.Context) (err error) {
	st.client, err = kgo.NewClient(kgo.SeedBrokers(st.kafka.Address), kgo.ConnIdleTimeout(time.Minute))
	if err != nil {
		return fmt.Errorf("make a kafka client: %w", err)
	}
	st.later(func() error { st.client.Close(); return nil })
	admin := kadm.NewClient(st.client)
	compact, appended := "compact", "LogAppendTime" // a record's time is the time of its arrival
	arrival := map[string]*string{"message.timestamp.type": &appended}
	limited := bankTopic()
	for _, t := range []struct {
		name       string
		partitions int32
		configs    map[string]*string
	}{
		{roles.TopicTransfers, transferPartitions, limited},
		{roles.TopicNotices, 4, limited},
		{roles.TopicReceipts, 4, arrival},
		{roles.TopicPositions, 1, map[string]*string{"cleanup.policy": &compact}},
	} {
		if _, err := admin.CreateTopic(ctx, t.partitions, 1, t.configs, t.name); err != nil {
			return fmt.Errorf("create topic %s: %w", t.name, err)
		}
	}
	return nil
}

func (st *stage) openProxies() (err error) {
	for _, p := range []struct {
		to       **toxic
		name     string
		upstream *testenv.Own
	}{
		{&st.relaysKafka, "relays-kafka", st.kafka},
		{&st.groupsKafka, "groups-kafka", st.kafka},
		{&st.redisProxy, "redis", st.redis},
	} {
		if p.upstream == nil {
			continue
		}
		if *p.to, err = openToxic(p.name, p.upstream.HostPort); err != nil {
			return err
		}
		opened := *p.to
		st.later(func() error { opened.close(); return nil })
	}
	if st.options.Content {
		return st.openRegistry()
	}
	return nil
}

// openRegistry starts a schema registry, which is in memory.
func (st *stage) openRegistry() (err error) {
	st.registry = srfake.New()
	st.later(func() error { st.registry.Close(); return nil })
	at, err := url.Parse(st.registry.URL())
	if err != nil {
		return fmt.Errorf("parse the URL of the registry: %w", err)
	}
	if st.registryProxy, err = openToxic("registry", at.Host); err != nil {
		return err
	}
	st.later(func() error { st.registryProxy.close(); return nil })
	return nil
}
