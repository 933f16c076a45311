package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// resolveRedis goes through the places where Redis may come from.
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

// redisRunning uses the detached set, else a server on the standard port of this
// machine that lets us in.
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
		case "valkey_version": // comes after the version of Redis that it stands in for
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

// player plays Redis in this process, until stop is called.
type player func() (address string, stop func(), err error)

// redisPlayer is what PlayRedis was given.
//
//nolint:gochecknoglobals // like shared, which uses it: tests of a package have nothing else in common
var redisPlayer player

// PlayRedis makes play, which is fakeredis.Start, the substitute for Redis. Programs
// that need none do not link one. It is called first thing in main or in TestMain.
func PlayRedis(play func() (address string, stop func(), err error)) { redisPlayer = play }

// startSubstitute plays Redis in this process.
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
