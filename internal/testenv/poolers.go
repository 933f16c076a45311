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
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// PoolMode defines when a pooler gives the server connection of a client to another client.
type PoolMode string

// The modes of PgBouncer.
const (
	// PoolSession keeps the server connection until the client disconnects.
	PoolSession PoolMode = "session"
	// PoolTransaction releases it after each transaction. Settings, LISTEN and session locks are lost, and
	// appear in another client's session.
	PoolTransaction PoolMode = "transaction"
	// PoolStatement releases it after each statement, and refuses transactions.
	PoolStatement PoolMode = "statement"
)

// PgBouncer starts a PgBouncer for the test alone in front of db, and returns the database as seen through
// it. The pool of the result uses a query mode that works through poolers. The pooler is removed when the
// test ends. If it is missing and cannot be installed, the test is skipped; in CI it fails.
func PgBouncer(tb testing.TB, db *Database, mode PoolMode) *Database {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	url, stop, err := startPgBouncer(ctx, db.URL, mode)
	if errors.Is(err, ErrUnavailable) && !inCI() {
		tb.Skipf("PgBouncer is needed: %v", err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		if err := stop(ctx); err != nil {
			tb.Errorf("stop the test's PgBouncer: %v", err)
		}
	})
	pooled := openDatabase(tb, url)
	pooled.ServerVersion = db.ServerVersion
	tb.Cleanup(func() { closePool(tb, pooled.Pool) })

	return pooled
}

// pgBouncerServer runs PgBouncer from a binary on this machine, in front of one server.
type pgBouncerServer struct {
	binary string
	mode   PoolMode
	target *pgx.ConnConfig
}

// pgBouncerConfig is the name of the configuration file in the server's directory.
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

// config returns a configuration that accepts every client as the user of the target.
func (s pgBouncerServer) config(port int) string {
	login := "user=" + quoteLiteral(s.target.User)
	if s.target.Password != "" { // an empty password would be a syntax error
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

	config, err := console.Exec(ctx, "SHOW CONFIG").ReadAll() // the console accepts one command per message
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
	// The default mode does not work: named prepared statements belong to one server connection.
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

// localPgBouncer looks in PATH and where Debian installs it, which is not in every user's PATH.
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

// PgPool starts a pgpool-II for the test alone, and returns the primary's database as seen through it. It
// sends statements that it considers reads to the standby. It is removed when the test ends. If it cannot
// be installed, the test is skipped; in CI it fails.
func PgPool(tb testing.TB, db *Database, primary *PostgresServer, standby *PostgresStandby) *Database {
	tb.Helper()
	p := startPrivate(tb, "pgpool-II", func(ctx context.Context) (*Own, error) {
		binary, err := findPgPool(ctx)
		if err != nil {
			return nil, err
		}
		s, err := serve(ctx, "pgpool", pgPoolServer{
			binary: binary, primary: primary.own.server.port, standby: standby.own.server.port,
		})
		if err != nil {
			return nil, err
		}

		return newOwn(Service{Address: s.address(), Version: s.version}, s), nil
	})
	target, err := pgx.ParseConfig(db.URL)
	if err != nil {
		tb.Fatal(err)
	}
	u := url.URL{
		Scheme: "postgres", User: url.User(target.User), Host: p.own.HostPort, Path: "/" + target.Database,
		RawQuery: "sslmode=disable",
	}
	balanced := openDatabase(tb, u.String())
	balanced.ServerVersion = db.ServerVersion
	tb.Cleanup(func() { closePool(tb, balanced.Pool) })

	return balanced
}

// pgPoolServer runs pgpool-II from a binary on this machine, in front of two servers.
type pgPoolServer struct {
	binary           string
	primary, standby int // ports of the servers
}

func (s pgPoolServer) plan(dir string, port int) (plan, error) {
	user, err := unprivileged()
	if err != nil {
		return plan{}, err
	}
	// The primary has weight 0, so that every read that may go to the standby goes there.
	config := fmt.Sprintf(`backend_clustering_mode = 'streaming_replication'
listen_addresses = '127.0.0.1'
port = %d
unix_socket_directories = ''
pcp_listen_addresses = ''
pcp_socket_dir = '%[2]s'
pid_file_name = '%[2]s/pgpool.pid'
logdir = '%[2]s'
work_dir = '%[2]s'
backend_hostname0 = '127.0.0.1'
backend_port0 = %[3]d
backend_weight0 = 0
backend_flag0 = 'ALWAYS_PRIMARY|DISALLOW_TO_FAILOVER'
backend_hostname1 = '127.0.0.1'
backend_port1 = %[4]d
backend_weight1 = 1
backend_flag1 = 'DISALLOW_TO_FAILOVER'
enable_pool_hba = off
num_init_children = 40
max_pool = 1
load_balance_mode = on
statement_level_load_balance = off
disable_load_balance_on_write = 'transaction'
sr_check_user = 'postgres'
sr_check_period = 0
health_check_period = 0
memory_cache_enabled = off
`, port, dir, s.primary, s.standby)

	return plan{
		User:  user,
		Files: map[string]string{"pgpool.conf": config, "pool_hba.conf": "", "pcp.conf": ""},
		Argv: []string{
			s.binary, "-n", "-D", "-f", filepath.Join(dir, "pgpool.conf"), "-a", filepath.Join(dir, "pool_hba.conf"),
			"-F", filepath.Join(dir, "pcp.conf"),
		},
		Stop: []stopStep{{Signal: int(syscall.SIGINT), Wait: 5 * time.Second}, {Signal: int(syscall.SIGQUIT), Wait: 5 * time.Second}},
	}, nil
}

func (s pgPoolServer) probe(ctx context.Context, dir string, port int) (version string, err error) {
	console, err := pgconn.Connect(ctx, postgresURL(port))
	if err != nil {
		return "", fmt.Errorf("testenv: probe: %w", err)
	}
	defer func() { err = errors.Join(err, console.Close(ctx)) }()

	for _, command := range []string{"PGPOOL SHOW pid_file_name", "SHOW POOL_VERSION"} {
		answer, err := console.Exec(ctx, command).ReadAll()
		if err != nil {
			return "", fmt.Errorf("testenv: probe: %w", err)
		}
		value := string(answer[0].Rows[0][0])
		if version == "" && value != filepath.Join(dir, "pgpool.pid") {
			return "", errNotOurs
		}
		version, _, _ = strings.Cut(value, " ")
	}

	return version, nil
}

func findPgPool(ctx context.Context) (string, error) {
	const name = "/usr/sbin/pgpool" // Debian's path, which is not in every user's PATH
	path, err := exec.LookPath(name)
	if err == nil || !mayInstall() {
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return path, err
	}
	if err := install(ctx, "pgpool2"); err != nil {
		return "", err
	}
	if path, err = exec.LookPath(name); err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}

	return path, nil
}
