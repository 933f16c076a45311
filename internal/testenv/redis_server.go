package testenv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// redisServer runs Redis from a binary on this machine.
type redisServer struct {
	binary string
	extra  []string // arguments that override ours
}

func (s redisServer) plan(dir string, port int) (plan, error) {
	argv := []string{
		s.binary, "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir,
		"--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction",
	}

	return plan{
		Argv: append(argv, s.extra...),
		Stop: []stopStep{{Signal: int(syscall.SIGTERM), Wait: 5 * time.Second}},
	}, nil
}

func (s redisServer) probe(ctx context.Context, dir string, port int) (string, error) {
	version, err := inspectRedis(ctx, localAddress(port))
	if err != nil {
		return "", err
	}
	conn, err := dialRedis(ctx, localAddress(port))
	if err != nil {
		return "", err
	}
	defer conn.close()
	config, err := conn.do("CONFIG", "GET", "dir")
	if err != nil {
		return "", fmt.Errorf("testenv: probe: %w", err)
	}
	if len(config) != 2 || filepath.Base(config[1]) != filepath.Base(dir) { // the rest may be a symbolic link
		return "", errNotOurs
	}

	return version, nil
}

// startRedis runs a server with settings such as {"maxmemory": "2mb"}, installing it
// first where that is possible.
func startRedis(ctx context.Context, settings map[string]string) (Service, *server, error) {
	binary, origin, err := findRedis(ctx)
	if err != nil {
		return Service{}, nil, err
	}
	var extra []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		extra = append(extra, "--"+name, settings[name])
	}
	s, err := serve(ctx, "redis", redisServer{binary: binary, extra: extra})
	if err != nil {
		return Service{}, nil, err
	}

	return Service{
		Kind:    KindRedis,
		Address: s.address(),
		Version: s.version,
		Origin:  "started from " + origin,
		Real:    true,
		stop:    s.close,
	}, s, nil
}

func findRedis(ctx context.Context) (binary, origin string, err error) {
	if binary, err := localRedis(); err == nil || !mayInstall() {
		return binary, binary, err
	}
	if err := install(ctx, "redis-server"); err != nil {
		return "", "", err
	}
	binary, err = localRedis()

	return binary, binary + ", installed by this run", err
}

func localRedis() (string, error) {
	var errs []error
	for _, name := range []string{"redis-server", "valkey-server"} {
		path, err := exec.LookPath(name)
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}

	return "", fmt.Errorf("%w: %w", ErrUnavailable, errors.Join(errs...))
}
