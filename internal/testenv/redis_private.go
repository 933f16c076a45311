package testenv

import (
	"context"
	"syscall"
	"testing"
)

// RedisServer is a real Redis of a test's own, to be killed, restarted and
// filled. It is gone when the test ends. Its methods fail the test when they fail,
// so they are called from the test's goroutine.
type RedisServer struct {
	private

	// Addr is host:port. It stays the same across restarts.
	Addr string
	// Version is the server's version.
	Version string
}

// PrivateRedis starts a server of the test's own, with settings such as
// {"maxmemory": "2mb"} or {"appendonly": "yes"}. It takes a moment. Where there is no Redis the test is
// skipped, in CI it fails.
func PrivateRedis(tb testing.TB, settings map[string]string) *RedisServer {
	tb.Helper()
	s := startPrivate(tb, "a real Redis", func(ctx context.Context) (*Own, error) { return OwnRedis(ctx, settings) })

	return &RedisServer{private: s, Addr: s.own.Address, Version: s.own.Version}
}

// Kill ends the server with SIGKILL and waits until it has gone.
func (s *RedisServer) Kill() {
	s.tb.Helper()
	s.end(syscall.SIGKILL)
}
