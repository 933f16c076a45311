package testenv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// PrivateValkey is [PrivateRedis] with Valkey 9, whatever Redis is on this machine.
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

// wantsValkey reports whether Redis is to be Valkey, of our own.
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

// fetchValkey returns what runs Valkey 9, which stable releases of Debian do not have.
func fetchValkey(ctx context.Context) (command []string, origin string, err error) {
	u, err := debianPackage{suite: "sid", name: "valkey-server"}.fetch(ctx)
	if err != nil {
		return nil, "", err
	}
	command, err = u.command(filepath.Join("usr", "bin", "valkey-server"))

	return command, "Debian's valkey-server " + u.version + " (sid), unpacked", err
}
