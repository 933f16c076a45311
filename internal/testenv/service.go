package testenv

import (
	"context"
	"fmt"
	"strings"
)

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
)

// Service is one server that a run uses.
type Service struct {
	// Kind is which of the services this is.
	Kind Kind
	// Address is a URL for databases, DynamoDB and RabbitMQ, a comma-separated broker
	// list for Kafka and host:port for Redis.
	Address string
	// Version is the version that the server reports.
	Version string
	// Origin says in words where the server came from.
	Origin string
	// Real is false for kfake and miniredis.
	Real bool

	stop func(ctx context.Context) error
}

// brokers returns the address as a list.
func (s Service) brokers() []string { return strings.Split(s.Address, ",") }

// line is the service's row in a description of the run.
func (s Service) line() string {
	return fmt.Sprintf("%-9s %-8s %s, at %s", s.Kind, s.Version, s.Origin, redact(s.Address))
}

// Assignment is the service's address as an entry of a process's environment. A
// substitute lives in its own process only, so others are told to play their own.
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
	case KindMySQL, KindMariaDB:
		return flavorOf(s.Kind).env + "=" + address
	default:
		return EnvRedis + "=" + address
	}
}

// Describe says in one line a service which version it is and where it came from.
func Describe(services []Service) string {
	var b strings.Builder
	for _, s := range services {
		b.WriteString("  " + s.line() + "\n")
	}

	return b.String()
}
