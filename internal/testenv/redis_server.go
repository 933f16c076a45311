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

// redisServer runs Redis or Valkey.
type redisServer struct {
	command []string // what runs it, without its arguments
	extra   []string // arguments that override ours
}

func (s redisServer) plan(dir string, port int) (plan, error) {
	argv := []string{
		"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir,
		"--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction",
	}

	return plan{
		Argv: slices.Concat(s.command, argv, s.extra),
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
	command, origin, err := findRedis(ctx)
	if err != nil {
		return Service{}, nil, err
	}

	return runRedis(ctx, command, origin, settings)
}

func runRedis(ctx context.Context, command []string, origin string, settings map[string]string) (Service, *server, error) {
	var extra []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		extra = append(extra, "--"+name, settings[name])
	}
	s, err := serve(ctx, "redis", redisServer{command: command, extra: extra})
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

func findRedis(ctx context.Context) (command []string, origin string, err error) {
	valkey, err := wantsValkey()
	if err != nil {
		return nil, "", err
	}
	if valkey {
		return fetchValkey(ctx)
	}
	binary, err := localRedis()
	if err == nil || !mayInstall() {
		return []string{binary}, binary, err
	}
	if err := install(ctx, "redis-server"); err != nil {
		return nil, "", err
	}
	binary, err = localRedis()

	return []string{binary}, binary + ", installed by this run", err
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
