package testenv

import (
	"context"
	"testing"
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

// Redis returns a part of the shared server, which is real where it can be. TestMain
// says by [PlayRedis] what it is where it cannot.
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
