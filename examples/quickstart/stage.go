package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
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

func (st *stage) openTopics(ctx context.Context) (err error) {
	s := &st.settings
	// A run that was killed leaves topics behind; this prefix marks them as nobody's.
	prefix := "leat-test-" + strconv.FormatInt(time.Now().Unix(), 36) + "-" + strconv.Itoa(os.Getpid()) + "-quickstart-"
	s.Brokers = st.env.KafkaBrokers
	s.Topic, s.Counted, s.Group = prefix+"webhooks", prefix+"counted", prefix+"stats"
	if st.kafka, err = kgo.NewClient(kgo.SeedBrokers(s.Brokers...)); err != nil {
		return err
	}
	st.later(func() error {
		defer st.kafka.Close()
		return st.deleteTopics(context.WithoutCancel(ctx)) // also when ctx has ended
	})
	admin := kadm.NewClient(st.kafka)
	return errors.Join(createTopic(ctx, admin, s.Topic), createTopic(ctx, admin, s.Counted))
}

func (st *stage) deleteTopics(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	admin := kadm.NewClient(st.kafka)
	topics, err := admin.DeleteTopics(ctx, st.settings.Topic, st.settings.Counted)
	if err == nil {
		err = topics.Error()
	}
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		err = nil
	}
	// The group dies with its topic where it cannot be deleted.
	_, _ = admin.DeleteGroup(ctx, st.settings.Group)
	return err
}
