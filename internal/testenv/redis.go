package testenv

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
)

// redisPrefix starts the name of every key that a test makes.
const redisPrefix = "leat-test:"

// RedisEnv is a test's own part of a Redis server: the keys that start with
// Prefix, deleted when the test ends.
type RedisEnv struct {
	// Addr is host:port.
	Addr string
	// Prefix starts the names of the test's keys.
	Prefix string
	// Real is false on the in-process miniredis.
	Real bool
	// Version is the server's version.
	Version string
}

// Redis returns a part of the shared server, which is real where it can be.
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
	client := redis.NewClient(&redis.Options{Addr: r.Addr})
	defer func() { _ = client.Close() }()

	keys := client.Scan(ctx, 0, r.Prefix+"*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := client.Unlink(ctx, keys.Val()).Err(); err != nil {
			return fmt.Errorf("testenv: delete keys: %w", err)
		}
	}
	if err := keys.Err(); err != nil {
		return fmt.Errorf("testenv: scan keys: %w", err)
	}

	return nil
}
