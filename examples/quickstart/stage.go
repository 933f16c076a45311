package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
)

// stage is the servers of one run: two databases, two topics and a directory, all removed at the
// end.
type stage struct {
	settings        settings
	env             *testenv.Env
	producer, stats *store // the databases of the ingest service and of the consumer
	kafka           *kgo.Client
	group           string // of the consumer
	counted         string // the topic of the consumer's own events
	undo            []func() error
}

// openStage finds or starts the servers and prepares them.
func openStage(ctx context.Context, s settings) (st *stage, err error) {
	st = &stage{settings: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.close())
		}
	}()
	needs := testenv.Needs{Kafka: true, Postgres: s.On == onPostgres, MySQL: s.On == onMySQL, MariaDB: s.On == onMariaDB}
	if st.env, err = testenv.Start(ctx, needs); err != nil {
		return st, err
	}
	st.later(st.env.Close)
	fmt.Fprint(os.Stderr, st.env.Describe())
	if st.settings.Dir, err = os.MkdirTemp("", "leat-quickstart-"); err != nil {
		return st, err
	}
	st.later(func() error { return os.RemoveAll(st.settings.Dir) })
	if st.producer, st.settings.Database, err = st.openDatabase(ctx, "quickstart_ingest", "producer"); err != nil {
		return st, err
	}
	if st.stats, _, err = st.openDatabase(ctx, "quickstart_stats", "consumer"); err != nil {
		return st, err
	}
	return st, st.openTopics(ctx)
}

// later registers f to be called by close.
func (st *stage) later(f func() error) { st.undo = append(st.undo, f) }

// close removes what the run has created and stops what it started, in reverse order.
func (st *stage) close() error {
	var errs []error
	for _, f := range slices.Backward(st.undo) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// openDatabase creates a database with leat's tables and those of a service.
func (st *stage) openDatabase(ctx context.Context, name, schema string) (s *store, address string, err error) {
	if address, err = st.create(ctx, name); err != nil {
		return nil, "", fmt.Errorf("create database %s: %w", name, err)
	}
	if s, err = openStore(ctx, st.settings.On, address); err != nil {
		return nil, "", err
	}
	st.later(func() error { s.close(); return nil })
	return s, address, s.migrate(ctx, schema)
}

// create creates a file, or a database on a server, and returns its address.
func (st *stage) create(ctx context.Context, name string) (string, error) {
	switch st.settings.On {
	case onPostgres:
		return st.env.CreateDatabase(ctx, name)
	case onSQLite:
		query := url.Values{
			"_txlock": {"immediate"},
			"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)"},
		}
		return "file:" + filepath.Join(st.settings.Dir, name+".db") + "?" + query.Encode(), nil
	case onMariaDB:
		return st.createMySQL(ctx, st.env.MariaDBURL, name)
	default:
		return st.createMySQL(ctx, st.env.MySQLURL, name)
	}
}

func (st *stage) createMySQL(ctx context.Context, server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	address := u.User.String() + "@tcp(" + u.Host + ")/"
	db, err := sql.Open(st.settings.On.driver(), address)
	if err != nil {
		return "", err
	}
	name = testenv.NewDatabaseName(name)
	if _, err := db.ExecContext(ctx, "CREATE DATABASE `"+name+"`"); err != nil {
		return "", errors.Join(err, db.Close())
	}
	st.later(func() error {
		_, err := db.ExecContext(context.WithoutCancel(ctx), "DROP DATABASE `"+name+"`")
		return errors.Join(err, db.Close())
	})
	return address + name + "?interpolateParams=true", nil
}

func (st *stage) openTopics(ctx context.Context) error {
	s := &st.settings
	s.Brokers, st.group = st.env.KafkaBrokers, st.env.KafkaName("stats")
	var errs [3]error
	s.Topic, errs[0] = st.env.CreateTopic(ctx, "webhooks", partitions)
	st.counted, errs[1] = st.env.CreateTopic(ctx, "counted", partitions)
	if st.kafka, errs[2] = kgo.NewClient(kgo.SeedBrokers(s.Brokers...)); errs[2] == nil {
		st.later(func() error { st.kafka.Close(); return nil })
	}
	return errors.Join(errs[:]...)
}
