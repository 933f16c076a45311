package testenv

import (
	"context"
	"errors"
	"maps"
	"slices"
	"syscall"
	"testing"
)

// RedisServer is a real Redis of a test's own, to be killed, restarted and
// filled. It is gone when the test ends. Its methods fail the test when they fail,
// so they are called from the test's goroutine.
type RedisServer struct {
	// Addr is host:port. It stays the same across restarts.
	Addr string
	// Version is the server's version.
	Version string

	tb     testing.TB
	server *server
}

// PrivateRedis starts a server of the test's own, with settings such as
// {"maxmemory": "2mb"} or {"appendonly": "yes"}. It takes a moment. Where there is no Redis the test is
// skipped, in CI it fails.
func PrivateRedis(tb testing.TB, settings map[string]string) *RedisServer {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	binary, _, err := findRedis(ctx)
	if errors.Is(err, ErrUnavailable) && !inCI() {
		tb.Skipf("needs a real Redis: %s", firstLine(err))
	}
	if err != nil {
		tb.Fatal(err)
	}
	var extra []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		extra = append(extra, "--"+name, settings[name])
	}
	s, err := serve(ctx, "redis", redisServer{binary: binary, extra: extra})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.close(context.Background()); err != nil {
			tb.Errorf("stop the test's Redis: %v", err)
		}
	})

	return &RedisServer{Addr: s.address(), Version: s.version, tb: tb, server: s}
}

// Kill ends the server with SIGKILL and waits until it has gone.
func (s *RedisServer) Kill() {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.server.proc.end(ctx, syscall.SIGKILL); err != nil {
		s.tb.Fatal(err)
	}
}

// Start starts the server again, on the same port and directory, and waits until
// it answers.
func (s *RedisServer) Start() {
	s.tb.Helper()
	if err := s.server.start(context.Background()); err != nil {
		s.tb.Fatal(err)
	}
}
