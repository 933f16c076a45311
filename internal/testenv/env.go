package testenv

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// startTimeout bounds the search for one service, a package installation or a
// download included.
const startTimeout = 8 * time.Minute

// ErrUnavailable is returned when a service is needed and can be had nowhere.
var ErrUnavailable = errors.New("testenv: service unavailable")

// Needs is the services that a program wants to have.
type Needs struct {
	// Postgres asks for PostgreSQL. Defaults to false.
	Postgres bool
	// Kafka asks for Kafka or, outside CI, its in-process substitute. Defaults to
	// false.
	Kafka bool
	// Redis asks for Redis or, outside CI, its in-process substitute. Defaults to
	// false.
	Redis bool
	// Rabbit asks for RabbitMQ. Defaults to false.
	Rabbit bool
	// MySQL asks for MySQL, which has no substitute. Defaults to false.
	MySQL bool
	// MariaDB asks for MariaDB, which has no substitute. Defaults to false.
	MariaDB bool
	// Dynamo asks for DynamoDB Local, which has no substitute. Defaults to false.
	Dynamo bool
}

// kinds are all services, in the order in which they are described.
func kinds() []Kind {
	return []Kind{KindPostgres, KindKafka, KindRedis, KindRabbit, KindMySQL, KindMariaDB, KindDynamo}
}

// kinds lists what is asked for.
func (n Needs) kinds() []Kind {
	var kinds []Kind
	if n.Postgres {
		kinds = append(kinds, KindPostgres)
	}
	if n.Kafka {
		kinds = append(kinds, KindKafka)
	}
	if n.Redis {
		kinds = append(kinds, KindRedis)
	}
	if n.Rabbit {
		kinds = append(kinds, KindRabbit)
	}
	if n.MySQL {
		kinds = append(kinds, KindMySQL)
	}
	if n.MariaDB {
		kinds = append(kinds, KindMariaDB)
	}
	if n.Dynamo {
		kinds = append(kinds, KindDynamo)
	}

	return kinds
}

// Env is a set of running services. The exported fields are set by [Start] and
// not changed afterwards; fields of services that were not asked for are zero.
// Its methods may be called concurrently.
type Env struct {
	// PostgresURL is the address of the maintenance database; a program makes its
	// own with [Env.CreateDatabase].
	PostgresURL string
	// KafkaBrokers are the seed addresses of the Kafka cluster.
	KafkaBrokers []string
	// KafkaReal is false when Kafka is the in-process kfake.
	KafkaReal bool
	// RedisAddr is host:port of the Redis server.
	RedisAddr string
	// RedisReal is false when Redis is the in-process miniredis.
	RedisReal bool
	// RabbitURL is the address of the RabbitMQ server.
	RabbitURL string
	// MySQLURL is the address of the MySQL server.
	MySQLURL string
	// MariaDBURL is the address of the MariaDB server.
	MariaDBURL string
	// DynamoURL is the endpoint of DynamoDB Local.
	DynamoURL string

	mu          sync.Mutex
	slots       map[Kind]*slot
	databases   []string
	kafkaPrefix string // "" until there is a name that starts with it

	maintenance maintenance
}

// slot holds a service from the moment that somebody asks for it.
type slot struct {
	once     sync.Once
	announce sync.Once
	service  Service
	err      error
}

// Start finds or starts the services that are needed, side by side. The caller
// must Close the result, and must have called [Supervise] first thing in main.
// The servers live on after ctx has ended.
func Start(ctx context.Context, needs Needs) (*Env, error) {
	env := newEnv()
	kinds := needs.kinds()
	errs := make([]error, len(kinds))

	var group sync.WaitGroup
	for i, kind := range kinds {
		group.Go(func() { _, errs[i] = env.service(ctx, kind) })
	}
	group.Wait()

	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, env.Close())
	}
	env.publish()

	return env, nil
}

func newEnv() *Env { return &Env{slots: map[Kind]*slot{}} }

// publish copies what was found into the exported fields.
func (e *Env) publish() {
	for _, s := range e.Services() {
		switch s.Kind {
		case KindPostgres:
			e.PostgresURL = s.Address
		case KindKafka:
			e.KafkaBrokers, e.KafkaReal = s.brokers(), s.Real
		case KindRedis:
			e.RedisAddr, e.RedisReal = s.Address, s.Real
		case KindRabbit:
			e.RabbitURL = s.Address
		case KindMySQL:
			e.MySQLURL = s.Address
		case KindMariaDB:
			e.MariaDBURL = s.Address
		case KindDynamo:
			e.DynamoURL = s.Address
		}
	}
}

// service returns a service, finding or starting it the first time. A failure is
// remembered: a machine that has no broker is asked once.
func (e *Env) service(ctx context.Context, kind Kind) (Service, error) {
	s := e.slot(kind)
	s.once.Do(func() {
		// One test's deadline must not spoil the server for the others.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
		defer cancel()
		s.service, s.err = resolve(ctx, kind)
	})

	return s.service, s.err
}

// slot returns the place of a service, filled or not.
func (e *Env) slot(kind Kind) *slot {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, ok := e.slots[kind]
	if !ok {
		s = &slot{}
		e.slots[kind] = s
	}

	return s
}

// adopt takes over a service that was started by other means.
func (e *Env) adopt(service Service) {
	s := &slot{service: service}
	s.once.Do(func() {})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.slots[service.Kind] = s
}

// Services lists what has been found or started so far.
func (e *Env) Services() []Service {
	e.mu.Lock()
	defer e.mu.Unlock()

	var found []Service
	for _, kind := range kinds() {
		if s, ok := e.slots[kind]; ok && s.err == nil && s.service.Address != "" {
			found = append(found, s.service)
		}
	}

	return found
}

// Describe says in one line a service which version is used and where it came
// from.
func (e *Env) Describe() string { return Describe(e.Services()) }

// Environ returns the addresses as entries of a process's environment, for tests
// and programs that are to use the same servers.
func (e *Env) Environ() []string {
	var environ []string
	for _, s := range e.Services() {
		environ = append(environ, s.Assignment())
	}

	return environ
}

// Close drops the databases that were made through e, deletes the topics and groups
// named by it, and stops the servers that e started; servers that were there before
// stay. It waits until they are gone.
func (e *Env) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	errs := []error{e.dropDatabases(ctx), e.maintenance.close(ctx), e.dropTopics(ctx)}
	for _, s := range e.Services() {
		if s.stop != nil {
			errs = append(errs, s.stop(ctx))
		}
	}
	e.mu.Lock()
	e.slots = map[Kind]*slot{}
	e.mu.Unlock()

	return errors.Join(errs...)
}

// resolve finds or starts one service.
func resolve(ctx context.Context, kind Kind) (Service, error) {
	switch kind {
	case KindPostgres:
		return resolvePostgres(ctx)
	case KindKafka:
		return resolveKafka(ctx)
	case KindRedis:
		return resolveRedis(ctx)
	case KindRabbit:
		return resolveRabbit(ctx)
	case KindMySQL, KindMariaDB:
		return resolveMySQL(ctx, flavorOf(kind))
	case KindDynamo:
		return resolveDynamo(ctx)
	default:
		return Service{}, fmt.Errorf("%w: %q is not a service", ErrUnavailable, kind)
	}
}
