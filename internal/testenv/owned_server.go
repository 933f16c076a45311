package testenv

import (
	"context"
	"fmt"
	"syscall"
)

// Own is a real server of a program's own, to be stopped, killed and started again.
// Tests have [PrivatePostgres], [PrivateKafka], [PrivateRedis], [PrivateRabbit], [PrivateMySQL]
// and [PrivateMariaDB], which are made of it. The caller must Close it, and must have called
// [Supervise] first thing in main. Its methods must not be called concurrently.
type Own struct {
	// Address is the server's: a URL for databases and RabbitMQ, host:port for the others. It
	// stays the same across restarts.
	Address string
	// HostPort is where it listens.
	HostPort string
	// Version is the server's version.
	Version string

	server *server
}

// OwnPostgres starts PostgreSQL. It takes two to three seconds.
func OwnPostgres(ctx context.Context, o PostgresOptions) (*Own, error) {
	binaries, err := wantedPostgres(ctx, o.Version)
	if err != nil {
		return nil, err
	}
	service, s, err := startPostgres(ctx, binaries, privateSettings(o.Settings))
	if err != nil {
		return nil, err
	}

	return newOwn(service, s), nil
}

// OwnKafka starts a broker. It takes some five seconds.
func OwnKafka(ctx context.Context) (*Own, error) {
	service, s, err := startKafka(ctx, privateBroker())
	if err != nil {
		return nil, err
	}

	return newOwn(service, s), nil
}

// OwnRedis starts Redis with settings such as {"appendonly": "yes"}.
func OwnRedis(ctx context.Context, settings map[string]string) (*Own, error) {
	service, s, err := startRedis(ctx, settings)
	if err != nil {
		return nil, err
	}

	return newOwn(service, s), nil
}

func newOwn(service Service, s *server) *Own {
	return &Own{Address: service.Address, HostPort: s.address(), Version: service.Version, server: s}
}

// End sends the server a signal and waits until it has exited. To PostgreSQL,
// SIGQUIT is an immediate stop and so a crash.
func (o *Own) End(ctx context.Context, sig syscall.Signal) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if err := o.server.proc.end(ctx, sig); err != nil {
		return fmt.Errorf("end the server at %s: %w", o.HostPort, err)
	}

	return nil
}

// Signal sends the server a signal that it survives, such as SIGSTOP and SIGCONT.
func (o *Own) Signal(sig syscall.Signal) error { return o.server.proc.signal(sig) }

// Start starts the server again, on the same port and data, and waits until it
// answers.
func (o *Own) Start(ctx context.Context) error { return o.server.start(ctx) }

// Close stops the server for good and waits until it is gone.
func (o *Own) Close() error { return o.server.close(context.Background()) }

// OwnRabbit starts RabbitMQ with further lines of rabbitmq.conf.
func OwnRabbit(ctx context.Context, conf string) (*Own, error) {
	service, s, err := startRabbit(ctx, conf)
	if err != nil {
		return nil, err
	}

	return newOwn(service, s), nil
}

// OwnDynamo starts DynamoDB Local with tables in memory: unlike DynamoDB it forgets the tokens of
// requests when it ends, so that it is no server to be killed.
func OwnDynamo(ctx context.Context) (*Own, error) {
	service, s, err := startOwnDynamo(ctx)
	if err != nil {
		return nil, err
	}

	return newOwn(service, s), nil
}
