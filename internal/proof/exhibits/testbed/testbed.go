package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
)

// Supervise must be called first in main. A second process of the same program watches each server that
// the program starts. In that process the call does not return.
func Supervise() { testenv.Supervise() }

// Testbed gives access to the servers of a run, and prints its steps. Its methods may be called
// concurrently.
type Testbed struct {
	// Pool connects to the run's own database.
	Pool *pgxpool.Pool
	// Brokers are Kafka's seed addresses.
	Brokers []string

	env   *testenv.Env
	kafka *kadm.Client
	story io.Writer

	mu      sync.Mutex
	closers []func() error
}

// Silent returns a testbed without servers that logs nothing.
func Silent() *Testbed { return &Testbed{story: io.Discard} }

// Start uses the servers that LEAT_POSTGRES_URL, LEAT_KAFKA_BROKERS and LEAT_MARIADB_URL name, and finds
// or starts the others. story receives the messages of Say. The caller must Close the result.
func Start(ctx context.Context, story io.Writer) (*Testbed, error) {
	env, err := testenv.Start(ctx, testenv.Needs{Postgres: true, Kafka: true, MariaDB: true})
	if err != nil {
		return nil, err
	}
	bed := &Testbed{Brokers: env.KafkaBrokers, env: env, story: story}
	if err := bed.connect(ctx); err != nil {
		return nil, errors.Join(err, bed.Close())
	}
	return bed, nil
}

func (bed *Testbed) connect(ctx context.Context) (err error) {
	if bed.Pool, err = bed.Database(ctx, "exhibits"); err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(bed.Brokers...))
	if err != nil {
		return err
	}
	bed.kafka = kadm.NewClient(client)
	return nil
}

// Database creates another database on the same server. The caller must close the pool.
func (bed *Testbed) Database(ctx context.Context, name string) (*pgxpool.Pool, error) {
	// The creation must not be interrupted, since the database would then never be dropped.
	url, err := bed.env.CreateDatabase(context.WithoutCancel(ctx), name)
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 10
	return pgxpool.NewWithConfig(ctx, config)
}

// Say prints a description of a step.
func (bed *Testbed) Say(format string, args ...any) { fmt.Fprintf(bed.story, format+"\n", args...) }

// Servers describes the servers that were found.
func (bed *Testbed) Servers() string { return bed.env.Describe() }

// Close removes what the run has created and stops what it has started.
func (bed *Testbed) Close() (err error) {
	bed.mu.Lock()
	defer bed.mu.Unlock()
	for _, end := range slices.Backward(bed.closers) {
		err = errors.Join(err, end())
	}
	if bed.Pool != nil {
		bed.Pool.Close()
	}
	if bed.kafka != nil {
		bed.kafka.Close()
	}
	return errors.Join(err, bed.env.Close())
}
