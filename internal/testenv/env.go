package testenv

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// startTimeout bounds the search for one service, including a package installation or a download.
const startTimeout = 8 * time.Minute

// ErrUnavailable is returned when a service is needed and cannot be found or started.
var ErrUnavailable = errors.New("testenv: service unavailable")

// Needs selects the services that a program uses.
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
	// Apicurio asks for Apicurio Registry, which has no substitute. Defaults to false.
	Apicurio bool
}

// kinds returns all services, in the order in which they are described.
func kinds() []Kind {
	return []Kind{KindPostgres, KindKafka, KindRedis, KindRabbit, KindMySQL, KindMariaDB, KindDynamo, KindApicurio}
}

// kinds returns the services that are selected.
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
	if n.Apicurio {
		kinds = append(kinds, KindApicurio)
	}

	return kinds
}

// Env is a set of running services. [Start] sets the exported fields, and nothing changes them afterwards.
// Fields of services that were not selected are zero. Its methods may be called concurrently.
type Env struct {
	// PostgresURL is the address of the maintenance database. A program creates databases of its own with
	// [Env.CreateDatabase].
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
	// RegistryURL is the URL of Apicurio Registry's Confluent-compatible API.
	RegistryURL string

	mu          sync.Mutex
	slots       map[Kind]*slot
	databases   []string
	kafkaPrefix string // "" until a name with the prefix was created

	maintenance maintenance
}

// slot holds a service. It is filled by the first request for the service.
type slot struct {
	once     sync.Once
	announce sync.Once
	service  Service
	err      error
}

// Start finds or starts the services that are needed, all at the same time. The caller must Close the
// result, and must have called [Supervise] first thing in main. The servers go on after ctx has ended.
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

// publish copies the found services into the exported fields.
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
		case KindApicurio:
			e.RegistryURL = s.Address
		}
	}
}

// service returns a service. The first call finds or starts it. A failure is remembered, so that a machine
// without a broker is searched only once.
func (e *Env) service(ctx context.Context, kind Kind) (Service, error) {
	s := e.slot(kind)
	s.once.Do(func() {
		// The deadline of one test must not affect a server that other tests use.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
		defer cancel()
		s.service, s.err = resolve(ctx, kind)
	})

	return s.service, s.err
}

// slot returns the slot of a service, filled or not.
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

// Describe returns a line for each service with its version and its origin.
func (e *Env) Describe() string { return Describe(e.Services()) }

// Environ returns the addresses as entries of a process's environment, for tests and programs that must
// use the same servers.
func (e *Env) Environ() []string {
	var environ []string
	for _, s := range e.Services() {
		environ = append(environ, s.Assignment())
	}

	return environ
}

// Close drops the databases that were created through e, deletes the topics and groups that e named, and
// stops the servers that e started. Servers that were running before stay. It waits until the stopped ones
// have ended.
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
	case KindApicurio:
		return resolveApicurio(ctx)
	default:
		return Service{}, fmt.Errorf("%w: %q is not a service", ErrUnavailable, kind)
	}
}

// Environment variables that this package reads.
const (
	// EnvPostgres is the URL of a PostgreSQL server on which we may create databases.
	EnvPostgres = "LEAT_POSTGRES_URL"
	// EnvKafka is a comma-separated list of brokers, or "fake" for kfake.
	EnvKafka = "LEAT_KAFKA_BROKERS"
	// EnvRedis is host:port of a Redis server, or "fake" for miniredis.
	EnvRedis = "LEAT_REDIS_ADDR"
	// EnvRedisServer is "valkey" to start a Valkey 9 as Redis, even if another server is running. It is
	// downloaded once as packages of Debian. "redis" or empty means Redis. [EnvRedis] takes precedence.
	EnvRedisServer = "LEAT_REDIS_SERVER"
	// EnvRabbit is the URL of a RabbitMQ server with its management, whose port is in the
	// parameter management unless it is 15672: amqp://guest:guest@127.0.0.1:5672/.
	EnvRabbit = "LEAT_RABBITMQ_URL"
	// EnvMySQL is the URL of a MySQL server on which we may create databases, such as
	// mysql://root@127.0.0.1:3306/.
	EnvMySQL = "LEAT_MYSQL_URL"
	// EnvMariaDB is the URL of a MariaDB server, likewise.
	EnvMariaDB = "LEAT_MARIADB_URL"
	// EnvDynamo is the endpoint of a DynamoDB Local, such as http://127.0.0.1:8000.
	EnvDynamo = "LEAT_DYNAMODB_URL"
	// EnvRegistry is the URL of Confluent's API of an Apicurio Registry, such as
	// http://127.0.0.1:8080/apis/ccompat/v7.
	EnvRegistry = "LEAT_REGISTRY_URL"
	// EnvPostgresVersion requires a major version of PostgreSQL, 14 to 18.
	EnvPostgresVersion = "LEAT_PG_VERSION"
	// EnvPostgresBin is a directory with the programs postgres and initdb.
	EnvPostgresBin = "LEAT_PG_BIN"
	// EnvCache is the directory for downloaded files and for the socket of the detached set.
	EnvCache = "LEAT_CACHE"
)

// fake is the address that selects the in-process substitute.
const fake = "fake"

// inCI reports whether a missing server fails the run instead of being replaced
// or skipped.
func inCI() bool {
	yes, err := strconv.ParseBool(os.Getenv("CI"))

	return err == nil && yes
}

// uniqueName returns a name that no other test has, on this server or another. Its first part is the time,
// by which leftovers of killed runs can be distinguished from names in use.
func uniqueName() string {
	var b [5]byte
	_, _ = rand.Read(b[:])

	return strconv.FormatInt(time.Now().Unix(), 36) + "_" + hex.EncodeToString(b[:])
}

// nameAge returns how long ago uniqueName made the name. It returns false if uniqueName did not make it.
func nameAge(name string) (time.Duration, bool) {
	stamp, _, ok := strings.Cut(name, "_")
	if !ok {
		return 0, false
	}
	seconds, err := strconv.ParseInt(stamp, 36, 64)
	if err != nil {
		return 0, false
	}

	return time.Since(time.Unix(seconds, 0)), true
}

// redact hides the password in a URL. If the URL cannot be parsed, it hides every part that may contain
// one.
func redact(address string) string {
	u, err := url.Parse(address)
	switch {
	case err == nil && u.Host != "" && u.User != nil && strings.Count(address, "@") == 1 && !strings.Contains(address, "password"):
		return u.Redacted()
	case strings.Contains(address, "@"), strings.Contains(address, "password"):
		return "(hidden)"
	default:
		return address
	}
}

// Kind names a service.
type Kind string

// The services that this package knows.
const (
	KindPostgres Kind = "postgres"
	KindKafka    Kind = "kafka"
	KindRedis    Kind = "redis"
	KindRabbit   Kind = "rabbitmq"
	KindMySQL    Kind = "mysql"
	KindMariaDB  Kind = "mariadb"
	KindDynamo   Kind = "dynamodb"
	KindApicurio Kind = "apicurio"
)

// Service is one server that a run uses.
type Service struct {
	// Kind is the kind of service.
	Kind Kind
	// Address is a URL for databases, DynamoDB, Apicurio Registry and RabbitMQ, a comma-separated broker
	// list for Kafka and host:port for Redis.
	Address string
	// Version is the version that the server reports.
	Version string
	// Origin describes where the server came from.
	Origin string
	// Real is false for kfake and miniredis.
	Real bool

	stop func(ctx context.Context) error
}

// brokers returns the address as a list.
func (s Service) brokers() []string { return strings.Split(s.Address, ",") }

// line returns the service's row in a description of the run.
func (s Service) line() string {
	return fmt.Sprintf("%-9s %-8s %s, at %s", s.Kind, s.Version, s.Origin, redact(s.Address))
}

// Assignment returns the service's address as an entry of a process's environment. A substitute exists
// only in its own process. In that case the entry makes other processes start their own.
func (s Service) Assignment() string {
	address := s.Address
	if !s.Real {
		address = fake
	}
	switch s.Kind {
	case KindPostgres:
		return EnvPostgres + "=" + address
	case KindKafka:
		return EnvKafka + "=" + address
	case KindRabbit:
		return EnvRabbit + "=" + address
	case KindDynamo:
		return EnvDynamo + "=" + address
	case KindApicurio:
		return EnvRegistry + "=" + address
	case KindMySQL, KindMariaDB:
		return flavorOf(s.Kind).env + "=" + address
	default:
		return EnvRedis + "=" + address
	}
}

// Describe returns a line for each service with its version and its origin.
func Describe(services []Service) string {
	var b strings.Builder
	for _, s := range services {
		b.WriteString("  " + s.line() + "\n")
	}

	return b.String()
}
