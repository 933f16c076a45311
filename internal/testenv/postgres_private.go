package testenv

import (
	"context"
	"fmt"
	"syscall"
	"testing"
)

// PostgresOptions describes a server of a test's own.
type PostgresOptions struct {
	// Version is a major version, 14 to 18. Defaults to the one that the other
	// servers of the run have.
	Version string
	// Settings are added to the server's configuration, such as
	// {"wal_level": "logical"}. Defaults to a durable server with prepared
	// transactions enabled.
	Settings map[string]string
}

// PostgresServer is a PostgreSQL server of a test's own, to be crashed, restarted
// and reconfigured. It is gone when the test ends. Its methods fail the test when
// they fail, so they are called from the test's goroutine.
type PostgresServer struct {
	private

	env *Env
}

// PrivatePostgres starts a server of the test's own. It takes two to three
// seconds; tests that only need a database use [Postgres].
func PrivatePostgres(tb testing.TB, o PostgresOptions) *PostgresServer {
	tb.Helper()
	s := startPrivate(tb, "", func(ctx context.Context) (*Own, error) { return OwnPostgres(ctx, o) })
	env := newEnv()
	env.maintenance.none = true // a smart stop waits until all have left
	env.adopt(Service{Kind: KindPostgres, Address: s.own.Address, Version: s.own.Version, Real: true})

	return &PostgresServer{private: s, env: env}
}

// URL is the address of the maintenance database. It stays the same across
// restarts.
func (s *PostgresServer) URL() string { return s.own.Address }

// Version is the version that the server reports.
func (s *PostgresServer) Version() string { return s.own.Version }

// Database returns a database on this server, cloned from the templates applied
// in order, or empty without templates. It goes with the server; its pool is
// closed when tb ends, which may be a part of the server's test.
func (s *PostgresServer) Database(tb testing.TB, templates ...Template) *Database {
	tb.Helper()
	url, err := s.env.CreateDatabase(context.Background(), tb.Name(), templates...)
	if err != nil {
		tb.Fatal(err)
	}
	db := openDatabase(tb, url)
	db.ServerVersion = s.own.Version
	tb.Cleanup(db.Pool.Close)

	return db
}

// Standby starts a standby that follows the server. It restarts the server, so that a test calls it
// before it connects.
func (s *PostgresServer) Standby(tb testing.TB) *PostgresStandby {
	tb.Helper()
	p := startPrivate(tb, "", func(ctx context.Context) (*Own, error) { return OwnStandby(ctx, s.own, nil) })

	return &PostgresStandby{private: p, primary: s}
}

// Stop stops the server and waits until it has exited. The mode is "smart",
// "fast" or "immediate". The last is a crash without the loss of the
// operating system's cache.
func (s *PostgresServer) Stop(mode string) {
	s.tb.Helper()
	sig, err := stopSignal(mode)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.end(sig)
}

// Restart is [PostgresServer.Stop] and Start.
func (s *PostgresServer) Restart(mode string) {
	s.tb.Helper()
	s.Stop(mode)
	s.Start()
}

// stopSignal is the signal that asks PostgreSQL to stop in a mode.
func stopSignal(mode string) (syscall.Signal, error) {
	switch mode {
	case "smart":
		return syscall.SIGTERM, nil
	case "fast":
		return syscall.SIGINT, nil
	case "immediate":
		return syscall.SIGQUIT, nil
	default:
		return 0, fmt.Errorf("testenv: stop mode %q is not smart, fast or immediate", mode)
	}
}
