package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// redisPrefix is the prefix of the names of all keys that tests make.
const redisPrefix = "leat-test:"

// RedisEnv is a test's own part of a Redis server: the keys that start with
// Prefix, deleted when the test ends.
type RedisEnv struct {
	// Addr is host:port.
	Addr string
	// Prefix is the prefix of the names of the test's keys.
	Prefix string
	// Real is false on the in-process miniredis.
	Real bool
	// Version is the server's version.
	Version string
}

// Redis returns a part of the shared server. The server is real if possible. TestMain sets the substitute
// with [PlayRedis].
func Redis(tb testing.TB) *RedisEnv {
	tb.Helper()
	service := use(tb, KindRedis)
	env := &RedisEnv{
		Addr:    service.Address,
		Prefix:  redisPrefix + uniqueName() + ":",
		Real:    service.Real,
		Version: service.Version,
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		if err := env.clear(ctx); err != nil {
			tb.Errorf("delete the test's keys: %v", err)
		}
	})

	return env
}

// clear deletes the keys of the prefix.
func (r *RedisEnv) clear(ctx context.Context) error {
	conn, err := dialRedis(ctx, r.Addr)
	if err != nil {
		return err
	}
	defer conn.close()

	for cursor := "0"; ; {
		found, err := conn.do("SCAN", cursor, "MATCH", r.Prefix+"*", "COUNT", "1000")
		if err != nil {
			return err
		}
		if cursor = found[0]; len(found) > 1 {
			if _, err := conn.do(append([]string{"UNLINK"}, found[1:]...)...); err != nil {
				return err
			}
		}
		if cursor == "0" {
			return nil
		}
	}
}

// RedisServer is a real Redis that only one test uses, which can kill, restart and fill it. It is removed
// when the test ends. Its methods fail the test on errors, so call them from the test's goroutine.
type RedisServer struct {
	private

	// Addr is host:port. It stays the same across restarts.
	Addr string
	// Version is the server's version.
	Version string
}

// PrivateRedis starts a server for the test alone, with settings such as {"maxmemory": "2mb"} or
// {"appendonly": "yes"}. It takes a moment. If there is no Redis the test is skipped; in CI it fails.
func PrivateRedis(tb testing.TB, settings map[string]string) *RedisServer {
	tb.Helper()
	s := startPrivate(tb, "a real Redis", func(ctx context.Context) (*Own, error) { return OwnRedis(ctx, settings) })

	return &RedisServer{private: s, Addr: s.own.Address, Version: s.own.Version}
}

// Kill ends the server with SIGKILL and waits until it has exited.
func (s *RedisServer) Kill() {
	s.tb.Helper()
	s.end(syscall.SIGKILL)
}

// resolveRedis tries the sources of Redis in order.
func resolveRedis(ctx context.Context) (Service, error) {
	address := os.Getenv(EnvRedis)
	switch {
	case address == fake:
		return startSubstitute("asked for in " + EnvRedis)
	case address != "":
		return redisAt(ctx, address, "address in "+EnvRedis)
	}
	valkey, err := wantsValkey()
	if err != nil {
		return Service{}, err
	}
	if s, ok := redisRunning(ctx); ok && !valkey {
		return s, nil
	}
	s, _, err := startRedis(ctx, nil)
	if errors.Is(err, ErrUnavailable) && !inCI() && !valkey {
		return startSubstitute(firstLine(err))
	}

	return s, err
}

// redisRunning returns the server of the detached set, or one on the standard port of this machine that
// accepts our login.
func redisRunning(ctx context.Context) (Service, bool) {
	if s, ok := detached(ctx, KindRedis); ok {
		if s, err := redisAt(ctx, s.Address, "detached set"); err == nil {
			return s, true
		}
	}
	s, err := redisAt(ctx, "127.0.0.1:6379", "already running on the standard port")

	return s, err == nil
}

// redisAt describes the server at an address.
func redisAt(ctx context.Context, address, origin string) (Service, error) {
	version, err := inspectRedis(ctx, address)
	if err != nil {
		return Service{}, err
	}

	return Service{Kind: KindRedis, Address: address, Version: version, Origin: origin, Real: true}, nil
}

// inspectRedis connects and returns the server's version.
func inspectRedis(ctx context.Context, address string) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()

	conn, err := dialRedis(ctx, address)
	if err != nil {
		return "", err
	}
	defer conn.close()
	info, err := conn.do("INFO", "server")
	if err != nil {
		return "", fmt.Errorf("testenv: Redis at %s: %w", address, err)
	}
	for line := range strings.Lines(strings.Join(info, "")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "valkey_version": // this line follows the version of the Redis that Valkey replaces
			return "valkey " + value, nil
		case "redis_version":
			version = value
		}
	}
	if version == "" {
		version = "unknown"
	}

	return version, nil
}

// player runs the substitute for Redis in this process, until stop is called.
type player func() (address string, stop func(), err error)

// redisPlayer is the function that PlayRedis was given.
//
//nolint:gochecknoglobals // like shared, which uses it: tests of a package have nothing else in common
var redisPlayer player

// PlayRedis sets play, which is fakeredis.Start, as the substitute for Redis. Programs that do not need a
// substitute therefore do not link one. Call it first thing in main or in TestMain.
func PlayRedis(play func() (address string, stop func(), err error)) { redisPlayer = play }

// startSubstitute starts the substitute for Redis in this process.
func startSubstitute(reason string) (Service, error) {
	if inCI() {
		return Service{}, fmt.Errorf("%w: CI needs a real Redis: %s", ErrUnavailable, reason)
	}
	if redisPlayer == nil {
		return Service{}, fmt.Errorf("%w: no substitute for Redis is linked, see PlayRedis: %s", ErrUnavailable, reason)
	}
	address, stop, err := redisPlayer()
	if err != nil {
		return Service{}, fmt.Errorf("testenv: %w", err)
	}

	return Service{
		Kind:    KindRedis,
		Address: address,
		Version: "mini",
		Origin:  "in-process substitute (" + reason + ")",
		stop:    func(context.Context) error { stop(); return nil },
	}, nil
}

// PrivateValkey is [PrivateRedis] with Valkey 9, even if this machine has Redis.
func PrivateValkey(tb testing.TB, settings map[string]string) *RedisServer {
	tb.Helper()
	s := startPrivate(tb, "Valkey", func(ctx context.Context) (*Own, error) { return ownValkey(ctx, settings) })

	return &RedisServer{private: s, Addr: s.own.Address, Version: s.own.Version}
}

func ownValkey(ctx context.Context, settings map[string]string) (*Own, error) {
	command, origin, err := fetchValkey(ctx)
	if err != nil {
		return nil, err
	}
	service, s, err := runRedis(ctx, command, origin, settings)
	if err != nil {
		return nil, err
	}

	return newOwn(service, s), nil
}

// wantsValkey reports whether Redis must be a Valkey that we start.
func wantsValkey() (bool, error) {
	switch server := os.Getenv(EnvRedisServer); server {
	case "", "redis":
		return false, nil
	case "valkey":
		return true, nil
	default:
		return false, fmt.Errorf("testenv: %s = %q: must be redis or valkey", EnvRedisServer, server)
	}
}

// fetchValkey returns the command that runs Valkey 9. It is downloaded, since stable releases of Debian do
// not have it.
func fetchValkey(ctx context.Context) (command []string, origin string, err error) {
	u, err := debianPackage{suite: "sid", name: "valkey-server"}.fetch(ctx)
	if err != nil {
		return nil, "", err
	}
	command, err = u.command(filepath.Join("usr", "bin", "valkey-server"))

	return command, "Debian's valkey-server " + u.version + " (sid), unpacked", err
}
