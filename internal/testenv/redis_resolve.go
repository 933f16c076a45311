package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// resolveRedis goes through the places where Redis may come from.
func resolveRedis(ctx context.Context) (Service, error) {
	address := os.Getenv(EnvRedis)
	switch {
	case address == fake:
		return startMiniredis("asked for in " + EnvRedis)
	case address != "":
		return redisAt(ctx, address, "address in "+EnvRedis)
	}
	if s, ok := redisRunning(ctx); ok {
		return s, nil
	}
	s, _, err := startRedis(ctx, nil)
	if errors.Is(err, ErrUnavailable) && !inCI() {
		return startMiniredis(firstLine(err))
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
func inspectRedis(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()

	// The client complains on standard error when nobody listens; a look first.
	if err := dial(ctx, address); err != nil {
		return "", fmt.Errorf("testenv: Redis at %s: %w", address, err)
	}
	client := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1})
	defer func() { _ = client.Close() }()
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return "", fmt.Errorf("testenv: Redis at %s: %w", address, err)
	}
	for line := range strings.Lines(info) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "redis_version:"); ok {
			return version, nil
		}
	}

	return "unknown", nil
}

// dial reports whether anybody listens at the address.
func dial(ctx context.Context, address string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}

	return conn.Close()
}

// startMiniredis plays Redis in this process.
func startMiniredis(reason string) (Service, error) {
	if inCI() {
		return Service{}, fmt.Errorf("%w: CI needs a real Redis: %s", ErrUnavailable, reason)
	}
	server, err := miniredis.Run()
	if err != nil {
		return Service{}, fmt.Errorf("testenv: miniredis: %w", err)
	}
	stopTime := passTime(server.FastForward)

	return Service{
		Kind:    KindRedis,
		Address: server.Addr(),
		Version: "mini",
		Origin:  "in-process substitute (" + reason + ")",
		stop:    func(context.Context) error { stopTime(); server.Close(); return nil },
	}, nil
}

// passTime makes keys expire: miniredis leaves that to its user. The returned
// function ends it.
func passTime(forward func(time.Duration)) (stop func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-over:
				return
			case <-tick.C:
				now := time.Now()
				forward(now.Sub(last))
				last = now
			}
		}
	}()

	return func() { close(over); <-ended }
}
