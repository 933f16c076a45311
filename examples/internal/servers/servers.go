// Package servers gives an example its own database, Kafka topics and consumer groups, and removes
// them at the end. It is the environment of an example, not its subject: in a service all of this
// comes from its configuration.
package servers

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/testenv"
)

// Supervise must be the first call of main: a server that an example starts is watched by a second
// process of the same program, which does not return from this call.
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

	env *testenv.Env
}

// Start finds or starts the servers: those that LEAT_POSTGRES_URL and
// LEAT_KAFKA_BROKERS name, or others. The caller must Close the result.
func Start(ctx context.Context, example string) (*Servers, error) {
	return start(ctx, example, testenv.Needs{Postgres: true, Kafka: true})
}

// StartPostgres is Start for an example that does not need Kafka.
func StartPostgres(ctx context.Context, example string) (*Servers, error) {
	return start(ctx, example, testenv.Needs{Postgres: true})
}

func start(ctx context.Context, example string, needs testenv.Needs) (*Servers, error) {
	env, err := testenv.Start(ctx, needs)
	if err != nil {
		return nil, err
	}
	s := &Servers{Brokers: env.KafkaBrokers, env: env}
	fmt.Fprint(os.Stderr, env.Describe())
	if err := s.connect(ctx, example); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Servers) connect(ctx context.Context, example string) (err error) {
	// If the creation were interrupted, the database would never be dropped.
	if s.PostgresURL, err = s.env.CreateDatabase(context.WithoutCancel(ctx), example); err != nil {
		return err
	}
	s.Pool, err = pgxpool.New(ctx, s.PostgresURL)
	return err
}

// Database creates another database of the example's own. The caller closes the pool.
func (s *Servers) Database(ctx context.Context, name string) (*pgxpool.Pool, error) {
	url, err := s.env.CreateDatabase(context.WithoutCancel(ctx), name)
	if err != nil {
		return nil, err
	}
	return pgxpool.New(ctx, url)
}

// Name returns a name for a topic or a consumer group that no other run uses.
func (s *Servers) Name(name string) string { return s.env.KafkaName(name) }

// Close removes what the example has created and stops the servers that it started.
func (s *Servers) Close() error {
	if s.Pool != nil {
		s.Pool.Close()
	}
	return s.env.Close()
}
