package testenv

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"syscall"
)

// Own is a real server of a program's own, to be stopped, killed and started again.
// Tests have [PrivatePostgres], [PrivateKafka] and [PrivateRedis]. The caller must
// Close it, and must have called [Supervise] first thing in main. Its methods must
// not be called concurrently.
type Own struct {
	// Address is the server's: a URL for PostgreSQL, host:port for the others. It
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
	_, s, err := startPostgres(ctx, binaries, privateSettings(o.Settings))
	if err != nil {
		return nil, err
	}

	return newOwn(s, postgresURL(s.port)), nil
}

// OwnKafka starts a broker. It takes some five seconds.
func OwnKafka(ctx context.Context) (*Own, error) {
	_, s, err := startKafka(ctx, privateBroker())
	if err != nil {
		return nil, err
	}

	return newOwn(s, s.address()), nil
}

// OwnRedis starts Redis with settings such as {"appendonly": "yes"}.
func OwnRedis(ctx context.Context, settings map[string]string) (*Own, error) {
	binary, _, err := findRedis(ctx)
	if err != nil {
		return nil, err
	}
	var extra []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		extra = append(extra, "--"+name, settings[name])
	}
	s, err := serve(ctx, "redis", redisServer{binary: binary, extra: extra})
	if err != nil {
		return nil, err
	}

	return newOwn(s, s.address()), nil
}

func newOwn(s *server, address string) *Own {
	return &Own{Address: address, HostPort: s.address(), Version: s.version, server: s}
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

// Start starts the server again, on the same port and data, and waits until it
// answers.
func (o *Own) Start(ctx context.Context) error { return o.server.start(ctx) }

// Close stops the server for good and waits until it is gone.
func (o *Own) Close() error { return o.server.close(context.Background()) }
