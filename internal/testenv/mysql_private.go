package testenv

import (
	"context"
	"syscall"
	"testing"
)

// PrivateMySQLServer is a real MySQL or MariaDB of a test's own, to be killed and
// started again. It is gone when the test ends. Its methods fail the test when they
// fail, so they are called from the test's goroutine.
type PrivateMySQLServer struct {
	private

	MySQLServer
}

// PrivateMySQL starts a server of the test's own with settings such as
// {"skip-log-bin": ""}. It takes some ten seconds. If there is no MySQL the test is
// skipped, in CI it fails.
func PrivateMySQL(tb testing.TB, settings map[string]string) *PrivateMySQLServer {
	tb.Helper()

	return privateMySQL(tb, "MySQL", OwnMySQL, settings)
}

// PrivateMariaDB is [PrivateMySQL] with MariaDB, with settings such as
// {"log-bin": "binlog", "sync-binlog": "1"}.
func PrivateMariaDB(tb testing.TB, settings map[string]string) *PrivateMySQLServer {
	tb.Helper()

	return privateMySQL(tb, "MariaDB", OwnMariaDB, settings)
}

func privateMySQL(
	tb testing.TB, name string, start func(context.Context, map[string]string) (*Own, error), settings map[string]string,
) *PrivateMySQLServer {
	tb.Helper()
	s := startPrivate(tb, name, func(ctx context.Context) (*Own, error) { return start(ctx, settings) })

	return &PrivateMySQLServer{private: s, MySQLServer: MySQLServer{URL: s.own.Address, Version: s.own.Version}}
}

// Kill ends the server with SIGKILL and waits until it has gone.
func (s *PrivateMySQLServer) Kill() {
	s.tb.Helper()
	s.end(syscall.SIGKILL)
}

// Stop asks the server to stop and waits until it has gone.
func (s *PrivateMySQLServer) Stop() {
	s.tb.Helper()
	s.end(syscall.SIGTERM)
}

// OwnMySQL starts MySQL with settings such as {"skip-log-bin": ""}.
func OwnMySQL(ctx context.Context, settings map[string]string) (*Own, error) {
	return ownMySQL(ctx, mysql(), settings)
}

// OwnMariaDB starts MariaDB with settings such as {"log-bin": "binlog"}.
func OwnMariaDB(ctx context.Context, settings map[string]string) (*Own, error) {
	return ownMySQL(ctx, mariadb(), settings)
}

func ownMySQL(ctx context.Context, f mysqlFlavor, settings map[string]string) (*Own, error) {
	service, s, err := f.start(ctx, privateMySQLSettings(settings), true)
	if err != nil {
		return nil, err
	}

	return newOwn(service, s), nil
}
