package testenv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// redisServer runs Redis or Valkey.
type redisServer struct {
	command []string // command that runs it, without its arguments
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

// startRedis runs a server with settings such as {"maxmemory": "2mb"}. Redis is installed first if it is
// missing and that is possible.
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

// errRedisReply is returned for errors of the server and for unexpected replies.
var errRedisReply = errors.New("testenv: reply of Redis")

// redisConn speaks the part of Redis's protocol that this package needs. This package does not use a
// client library, since the demo links it.
type redisConn struct {
	conn net.Conn
	in   *bufio.Reader
}

// dialRedis connects to the server at address. Its commands must be answered before ctx ends, or
// within connectTimeout.
func dialRedis(ctx context.Context, address string) (*redisConn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("testenv: Redis at %s: %w", address, err)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(connectTimeout)
	}
	_ = conn.SetDeadline(deadline)

	return &redisConn{conn: conn, in: bufio.NewReader(conn)}, nil
}

func (c *redisConn) close() { _ = c.conn.Close() }

// do sends a command and returns the strings of its reply. Those of nested arrays follow one another.
func (c *redisConn) do(args ...string) ([]string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(c.conn, b.String()); err != nil {
		return nil, fmt.Errorf("testenv: Redis %s: %w", args[0], err)
	}
	reply, err := c.reply()
	if err != nil {
		return nil, fmt.Errorf("testenv: Redis %s: %w", args[0], err)
	}

	return reply, nil
}

func (c *redisConn) reply() ([]string, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, fmt.Errorf("%w: an empty line", errRedisReply)
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+', ':':
		return []string{rest}, nil
	case '$', '*':
	default: // an error, or a type of reply that this client does not know
		return nil, fmt.Errorf("%w: %.100q", errRedisReply, line)
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 0 {
		return nil, err // a nil reply has no strings
	}
	if kind == '$' {
		body := make([]byte, n+len("\r\n"))
		_, err := io.ReadFull(c.in, body)

		return []string{string(body[:n])}, err
	}
	var all []string
	for range n {
		part, err := c.reply()
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}

	return all, nil
}
