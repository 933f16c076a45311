package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

//go:embed sql/producer.sql
var producerSchema string

//go:embed sql/consumer.sql
var consumerSchema string

// stage is what the services of one run stand on: two databases, two topics and a
// directory, all removed in the end.
type stage struct {
	settings settings
	env      *testenv.Env
	ingestDB *pgxpool.Pool
	statsDB  *pgxpool.Pool
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
	st.env, err = testenv.Start(ctx, testenv.Needs{Postgres: true, Kafka: true})
	if err != nil {
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
	if s.ProducerDB, st.ingestDB, err = st.openDatabase(ctx, "quickstart_ingest"); err != nil {
		return err
	}
	if s.ConsumerDB, st.statsDB, err = st.openDatabase(ctx, "quickstart_stats"); err != nil {
		return err
	}
	for _, d := range []struct {
		pool   *pgxpool.Pool
		schema string
	}{{st.ingestDB, producerSchema}, {st.statsDB, consumerSchema}} {
		ob, err := pgoutbox.New(d.pool, pgoutbox.Config{})
		if err != nil {
			return err
		}
		if err := ob.Migrate(ctx); err != nil {
			return err
		}
		if _, err := d.pool.Exec(ctx, d.schema); err != nil {
			return fmt.Errorf("business tables: %w", err)
		}
	}
	in, err := pginbox.New(st.statsDB, consumerName, pginbox.Config{})
	if err != nil {
		return err
	}
	return in.Migrate(ctx)
}

// openDatabase creates a database. Its URL allows each service the connections
// that it needs: one a worker, and a few for a relay.
func (st *stage) openDatabase(ctx context.Context, name string) (string, *pgxpool.Pool, error) {
	url, err := st.env.CreateDatabase(ctx, name)
	if err != nil {
		return "", nil, err
	}
	separator := "?"
	if strings.Contains(url, "?") {
		separator = "&"
	}
	url += separator + "pool_max_conns=12"
	pool, err := pgxpool.New(ctx, url)
	if err == nil {
		st.later(func() error { pool.Close(); return nil })
	}
	return url, pool, err
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
