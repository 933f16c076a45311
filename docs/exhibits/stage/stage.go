package stage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
)

// Supervise must be the first call of main: a server that a program starts is
// watched by a second process of the same program, which does not return here.
func Supervise() { testenv.Supervise() }

// Stage are the servers and what is written about them. Its methods may be called
// concurrently.
type Stage struct {
	// Pool connects to the run's own database.
	Pool *pgxpool.Pool
	// Brokers are Kafka's seed addresses.
	Brokers []string

	env    *testenv.Env
	kafka  *kadm.Client
	prefix string
	story  io.Writer
}

// Silent returns a stage without servers that tells nothing.
func Silent() *Stage { return &Stage{story: io.Discard} }

// Start finds or starts the servers: those that LEAT_POSTGRES_URL and
// LEAT_KAFKA_BROKERS name, or others. What happens is told to story. The caller
// must Close the result.
func Start(ctx context.Context, story io.Writer) (*Stage, error) {
	env, err := testenv.Start(ctx, testenv.Needs{Postgres: true, Kafka: true})
	if err != nil {
		return nil, err
	}
	s := &Stage{
		Brokers: env.KafkaBrokers,
		env:     env,
		prefix:  "leat-test-" + strconv.FormatInt(time.Now().Unix(), 36) + "-" + strings.ToLower(rand.Text()[:10]) + "-",
		story:   story,
	}
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

func (s *Stage) connect(ctx context.Context) (err error) {
	if s.Pool, err = s.Database(ctx, "exhibits"); err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Brokers...))
	if err != nil {
		return err
	}
	s.kafka = kadm.NewClient(client)
	return nil
}

// Database makes another database on the same server. The caller must close the
// pool.
func (s *Stage) Database(ctx context.Context, name string) (*pgxpool.Pool, error) {
	// A database whose creation is interrupted would be nobody's to drop.
	url, err := s.env.CreateDatabase(context.WithoutCancel(ctx), name)
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

// Say tells what happens.
func (s *Stage) Say(format string, args ...any) { fmt.Fprintf(s.story, format+"\n", args...) }

// Servers says which servers were found.
func (s *Stage) Servers() string { return s.env.Describe() }

// Close removes what the run has made and stops what it started, also after ctx
// has ended.
func (s *Stage) Close(ctx context.Context) error {
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
