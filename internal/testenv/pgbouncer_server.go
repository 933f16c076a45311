package testenv

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pgBouncerServer runs PgBouncer from a binary on this machine, in front of one
// server.
type pgBouncerServer struct {
	binary string
	mode   PoolMode
	target *pgx.ConnConfig
}

// pgBouncerConfig is the name of the configuration in the server's directory.
const pgBouncerConfig = "pgbouncer.ini"

func (s pgBouncerServer) plan(dir string, port int) (plan, error) {
	user, err := unprivileged()
	if err != nil {
		return plan{}, err
	}

	return plan{
		User:  user,
		Files: map[string]string{pgBouncerConfig: s.config(port)},
		Argv:  []string{s.binary, filepath.Join(dir, pgBouncerConfig)},
		Stop:  []stopStep{{Signal: int(syscall.SIGTERM), Wait: 5 * time.Second}},
	}, nil
}

// config lets everybody in as the user of the target.
func (s pgBouncerServer) config(port int) string {
	login := "user=" + quoteLiteral(s.target.User)
	if s.target.Password != "" { // an empty one is a syntax error
		login += " password=" + quoteLiteral(s.target.Password)
	}

	return fmt.Sprintf(`[databases]
%s = host=%s port=%d %s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = %s
default_pool_size = 20
max_client_conn = 200
`, s.target.Database, s.target.Host, s.target.Port, login, port, s.mode)
}

func (s pgBouncerServer) probe(ctx context.Context, dir string, port int) (version string, err error) {
	console, err := pgconn.Connect(ctx, "postgres://leat@"+localAddress(port)+"/pgbouncer?sslmode=disable")
	if err != nil {
		return "", fmt.Errorf("testenv: probe: %w", err)
	}
	defer func() { err = errors.Join(err, console.Close(ctx)) }()

	config, err := console.Exec(ctx, "SHOW CONFIG").ReadAll() // one command a message
	if err != nil {
		return "", fmt.Errorf("testenv: probe: %w", err)
	}
	answer, err := console.Exec(ctx, "SHOW VERSION").ReadAll()
	if err != nil {
		return "", fmt.Errorf("testenv: probe: %w", err)
	}
	ours := slices.ContainsFunc(config[0].Rows, func(row [][]byte) bool {
		return string(row[0]) == "conffile" && string(row[1]) == filepath.Join(dir, pgBouncerConfig)
	})
	if !ours {
		return "", errNotOurs
	}

	return strings.TrimPrefix(string(answer[0].Rows[0][0]), "PgBouncer "), nil
}

// startPgBouncer runs a pooler in front of the server at address, and returns the
// address of the same database through it.
func startPgBouncer(ctx context.Context, address string, mode PoolMode) (pooled string, stop func(context.Context) error, err error) {
	binary, err := findPgBouncer(ctx)
	if err != nil {
		return "", nil, err
	}
	target, err := pgx.ParseConfig(address)
	if err != nil {
		return "", nil, fmt.Errorf("testenv: %w", err)
	}
	s, err := serve(ctx, "pgbouncer", pgBouncerServer{binary: binary, mode: mode, target: target})
	if err != nil {
		return "", nil, err
	}
	u := url.URL{Scheme: "postgres", User: url.User(target.User), Host: s.address(), Path: "/" + target.Database}
	// Named prepared statements live in one server connection.
	u.RawQuery = "sslmode=disable&default_query_exec_mode=cache_describe"

	return u.String(), s.close, nil
}

func findPgBouncer(ctx context.Context) (string, error) {
	if binary, err := localPgBouncer(); err == nil || !mayInstall() {
		return binary, err
	}
	if err := install(ctx, "pgbouncer"); err != nil {
		return "", err
	}

	return localPgBouncer()
}

// localPgBouncer looks in PATH and where Debian puts it, which is not in every
// user's PATH.
func localPgBouncer() (string, error) {
	var errs []error
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		path, err := exec.LookPath(name)
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}

	return "", fmt.Errorf("%w: %w", ErrUnavailable, errors.Join(errs...))
}
