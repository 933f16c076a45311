// Package servers gives an example a database, Kafka topics and consumer groups
// of its own, and removes them at the end. It is what surrounds an example, not
// what the example shows: in a service all of this comes from its configuration.
package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
)

// Supervise must be the first call of main: a server that an example starts is
// watched by a second process of the same program, which does not return here.
func Supervise() { testenv.Supervise() }

// Servers are PostgreSQL and Kafka, reduced to one example's own part of them.
// Its methods may be called concurrently.
type Servers struct {
	// Pool connects to the example's own, empty database.
	Pool *pgxpool.Pool
	// PostgresURL is the address of that database.
	PostgresURL string
	// Brokers are Kafka's seed addresses.
	Brokers []string

	env    *testenv.Env
	kafka  *kadm.Client
	prefix string
}

// Start finds or starts the servers: those that LEAT_POSTGRES_URL and
// LEAT_KAFKA_BROKERS name, or others. The caller must Close the result.
func Start(ctx context.Context, example string) (*Servers, error) {
	env, err := testenv.Start(ctx, testenv.Needs{Postgres: true, Kafka: true})
	if err != nil {
		return nil, err
	}
	s := &Servers{
		Brokers: env.KafkaBrokers,
		env:     env,
		prefix:  "leat-test-" + strconv.FormatInt(time.Now().Unix(), 36) + "-" + strconv.Itoa(os.Getpid()) + "-" + example + "-",
	}
	fmt.Fprint(os.Stderr, env.Describe())
	if err := s.connect(ctx, example); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

func (s *Servers) connect(ctx context.Context, example string) (err error) {
	// A database whose creation is interrupted would be nobody's to drop.
	if s.PostgresURL, err = s.env.CreateDatabase(context.WithoutCancel(ctx), example); err != nil {
		return err
	}
	if s.Pool, err = pgxpool.New(ctx, s.PostgresURL); err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Brokers...))
	if err != nil {
		return err
	}
	s.kafka = kadm.NewClient(client)
	return nil
}

// Name returns a name for a topic or a consumer group that no other run uses.
func (s *Servers) Name(name string) string { return s.prefix + name }

// Close removes what the example has made and stops what it started, also after
// ctx has ended.
func (s *Servers) Close(ctx context.Context) error {
	var err error
	if s.Pool != nil {
		s.Pool.Close()
	}
	if s.kafka != nil {
		err = s.deleteTopics(context.WithoutCancel(ctx))
		s.kafka.Close()
	}
	return errors.Join(err, s.env.Close())
}
