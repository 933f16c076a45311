package testenv

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"
)

// Own is a real server that only this program uses, which can stop, kill and restart it. Tests have
// [PrivatePostgres], [PrivateKafka], [PrivateRedis], [PrivateRabbit], [PrivateMySQL] and [PrivateMariaDB],
// which are built on it. The caller must Close it, and must have called [Supervise] first thing in main.
// Its methods must not be called concurrently.
type Own struct {
	// Address is the server's address: a URL for databases and RabbitMQ, host:port for the others. It
	// stays the same across restarts.
	Address string
	// HostPort is the host and port at which the server listens.
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
	if o.Oldest {
		for _, dir := range postgresDirs() { // the newest first
			if usablePostgres(ctx, dir) {
				binaries = postgresBinaries{dir: dir, origin: dir}
			}
		}
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

// End sends the server a signal and waits until it has exited. For PostgreSQL, SIGQUIT is an immediate
// stop and therefore a crash.
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

// Close stops the server for good and waits until it has exited.
func (o *Own) Close() error { return o.server.close(context.Background()) }

// OwnRabbit starts RabbitMQ. conf has lines to add to rabbitmq.conf.
func OwnRabbit(ctx context.Context, conf string) (*Own, error) {
	service, s, err := startRabbit(ctx, conf)
	if err != nil {
		return nil, err
	}

	return newOwn(service, s), nil
}

// OwnDynamo starts DynamoDB Local with tables in memory. Do not use it to test crashes: unlike
// DynamoDB, it forgets the tokens of requests when it ends.
func OwnDynamo(ctx context.Context) (*Own, error) {
	service, s, err := startOwnDynamo(ctx)
	if err != nil {
		return nil, err
	}

	return newOwn(service, s), nil
}

// Program is a server that this package does not know.
type Program struct {
	// Name becomes a part of the name of the server's directory.
	Name string
	// Plan returns the files to write into the server's directory, by name, and its command line. The
	// command runs in dir, which is removed at the end, and must listen on port.
	Plan func(dir string, port int) (files map[string]string, argv []string)
	// Probe returns the version of the server at address, or an error until the server answers.
	Probe func(ctx context.Context, address string) (version string, err error)
}

// OwnProgram starts a program and waits until it answers. It ends when this process ends, like the servers
// that this package knows.
func OwnProgram(ctx context.Context, p Program) (*Own, error) {
	s, err := serve(ctx, p.Name, programServer{p})
	if err != nil {
		return nil, err
	}

	return newOwn(Service{Address: s.address(), Version: s.version}, s), nil
}

// Log returns the end of the server's output, for an error.
func (o *Own) Log() string { return o.server.proc.tail(errorTail) }

// programServer runs a program.
type programServer struct {
	program Program
}

func (s programServer) plan(dir string, port int) (plan, error) {
	files, argv := s.program.Plan(dir, port)

	return plan{Files: files, Argv: argv, Stop: []stopStep{{Signal: int(syscall.SIGTERM), Wait: 15 * time.Second}}}, nil
}

func (s programServer) probe(ctx context.Context, _ string, port int) (string, error) {
	return s.program.Probe(ctx, localAddress(port))
}

// private is a server that only one test uses: an [Own] that fails the test on errors, and is removed when
// the test ends.
type private struct {
	tb  testing.TB
	own *Own
}

// startPrivate starts a private server. If it cannot be started because the software that needs names is
// missing, the test is skipped; in CI it fails.
func startPrivate(tb testing.TB, needs string, start func(context.Context) (*Own, error)) private {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	own, err := start(ctx)
	if needs != "" && errors.Is(err, ErrUnavailable) && !inCI() {
		tb.Skipf("needs %s: %s", needs, firstLine(err))
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := own.Close(); err != nil {
			tb.Errorf("stop the test's own server: %v", err)
		}
	})

	return private{tb: tb, own: own}
}

// end sends the server a signal and waits until it has exited.
func (s private) end(sig syscall.Signal) {
	s.tb.Helper()
	if err := s.own.End(context.Background(), sig); err != nil {
		s.tb.Fatal(err)
	}
}

// Start starts the server again, on the same port and data, and waits until it
// answers.
func (s private) Start() {
	s.tb.Helper()
	if err := s.own.Start(context.Background()); err != nil {
		s.tb.Fatal(err)
	}
}
