package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
)

// stage is what the services of one run stand on: two databases, two topics and a
// directory, all removed in the end.
type stage struct {
	settings settings
	env      *testenv.Env
	on       database
	ingestDB *sql.DB
	statsDB  *sql.DB
	kafka    *kgo.Client
	undo     []func() error
}

// openStage finds or starts the servers and prepares them.
func openStage(ctx context.Context, s settings) (st *stage, err error) {
	st = &stage{settings: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.close())
		}
	}()
	if st.on, err = s.On.database(); err != nil {
		return st, err
	}
	needs := st.on.needs()
	needs.Kafka = true
	if st.env, err = testenv.Start(ctx, needs); err != nil {
		return st, err
	}
	st.later(st.env.Close)
	fmt.Fprint(os.Stderr, st.env.Describe())
	if st.settings.Dir, err = os.MkdirTemp("", "leat-quickstart-"); err != nil {
		return st, err
	}
	st.later(func() error { return os.RemoveAll(st.settings.Dir) })
	if err := st.openDatabases(ctx); err != nil {
		return st, err
	}
	return st, st.openTopics(ctx)
}

// later has close call f.
func (st *stage) later(f func() error) { st.undo = append(st.undo, f) }

// close removes what the run has made and stops what it started, last things
// first.
func (st *stage) close() error {
	var errs []error
	for _, f := range slices.Backward(st.undo) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

func (st *stage) openDatabases(ctx context.Context) (err error) {
	s := &st.settings
	if s.ProducerDB, st.ingestDB, err = st.openDatabase(ctx, "quickstart_ingest", "producer"); err != nil {
		return err
	}
	s.ConsumerDB, st.statsDB, err = st.openDatabase(ctx, "quickstart_stats", "consumer")
	return err
}

// openDatabase creates a database with leat's tables and those of a service.
func (st *stage) openDatabase(ctx context.Context, name, schema string) (address string, db *sql.DB, err error) {
	if address, err = st.on.create(ctx, st, name); err != nil {
		return "", nil, fmt.Errorf("create database %s: %w", name, err)
	}
	if err := st.on.migrate(ctx, address); err != nil {
		return "", nil, err
	}
	if db, err = st.on.open(address); err != nil {
		return "", nil, err
	}
	st.later(db.Close)
	tables, err := st.settings.On.statement(schema)
	if err != nil {
		return "", nil, err
	}
	for statement := range strings.SplitSeq(tables, ";\n") {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return "", nil, fmt.Errorf("business tables: %w", err)
		}
	}
	return address, db, nil
}

func (st *stage) openTopics(ctx context.Context) error {
	s := &st.settings
	s.Brokers, s.Group = st.env.KafkaBrokers, st.env.KafkaName("stats")
	var errs [3]error
	s.Topic, errs[0] = st.env.CreateTopic(ctx, "webhooks", partitions)
	s.Counted, errs[1] = st.env.CreateTopic(ctx, "counted", partitions)
	if st.kafka, errs[2] = kgo.NewClient(kgo.SeedBrokers(s.Brokers...)); errs[2] == nil {
		st.later(func() error { st.kafka.Close(); return nil })
	}
	return errors.Join(errs[:]...)
}
