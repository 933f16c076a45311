package testenv

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/leat-go/leat/internal/wait"
)

// poolSize is the number of connections of a test's pool. The shared server has enough connections for
// some twenty such tests at a time.
const poolSize = 16

// cleanupTimeout bounds the cleanup after a test.
const cleanupTimeout = 90 * time.Second

// poolCloseTimeout bounds the wait for connections that a test still uses.
const poolCloseTimeout = 10 * time.Second

// Database is a database that only one test uses. When the test ends the database is dropped, and its
// connections are cut.
type Database struct {
	// Name is the database's name on the server.
	Name string
	// URL is its address, for the test's own connections.
	URL string
	// Pool is a pool of connections. It is closed when the test ends.
	Pool *pgxpool.Pool
	// ServerVersion is the version that the server reports, such as "15.14".
	ServerVersion string
}

// Postgres returns a database for the test alone, cloned from the templates applied in order, or empty
// without templates. The server is shared with other tests and must not be reconfigured or stopped: see
// [PrivatePostgres] for that.
func Postgres(tb testing.TB, templates ...Template) *Database {
	tb.Helper()
	service := use(tb, KindPostgres)
	ctx := context.Background()

	url, err := shared.CreateDatabase(ctx, tb.Name(), templates...)
	if err != nil {
		tb.Fatal(err)
	}
	db := openDatabase(tb, url)
	db.ServerVersion = service.Version
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
		defer cancel()
		closePool(tb, db.Pool)
		if err := shared.forget(ctx, db.Name); err != nil {
			tb.Errorf("drop the test's database: %v", err)
		}
	})

	return db
}

// closePool closes pool, but waits only for a limited time for connections that the test keeps: a test
// that has failed inside a transaction must not hang.
func closePool(tb testing.TB, pool *pgxpool.Pool) {
	tb.Helper()
	closed := make(chan struct{})
	go func() { defer close(closed); pool.Close() }()
	timeout := time.NewTimer(poolCloseTimeout)
	defer timeout.Stop()
	select {
	case <-closed:
	case <-timeout.C:
		tb.Error("the test has not given back all connections of its pool")
	}
}

// openDatabase opens the pool; the caller must close it.
func openDatabase(tb testing.TB, url string) *Database {
	tb.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		tb.Fatal(err)
	}
	config.MaxConns = poolSize
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		tb.Fatal(err)
	}

	return &Database{Name: config.ConnConfig.Database, URL: url, Pool: pool}
}

// SQL returns a database/sql handle that uses pgx's driver. It is closed when the test ends.
func (d *Database) SQL(tb testing.TB) *sql.DB {
	tb.Helper()
	config, err := pgx.ParseConfig(d.URL)
	if err != nil {
		tb.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(poolSize)
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close the database handle: %v", err)
		}
	})

	return db
}

// Connect returns a connection outside the pool, closed when the test ends.
func (d *Database) Connect(tb testing.TB) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(context.Background(), d.URL)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		_ = conn.Close(ctx) // the test may have cut it on purpose
	})

	return conn
}

// resolvePostgres tries the sources of PostgreSQL in order.
func resolvePostgres(ctx context.Context) (Service, error) {
	if s, ok, err := postgresFromEnvironment(ctx); ok || err != nil {
		return s, err
	}
	if s, ok := postgresRunning(ctx); ok {
		return s, nil
	}
	binaries, err := wantedPostgres(ctx, "")
	if err != nil {
		return Service{}, err
	}
	s, _, err := startPostgres(ctx, binaries, sharedSettings())

	return s, err
}

// postgresFromEnvironment returns the server at the given address. An unreachable server is an error, and
// no other source is tried. A server of another version than the requested one is skipped.
func postgresFromEnvironment(ctx context.Context) (Service, bool, error) {
	address := os.Getenv(EnvPostgres)
	if address == "" {
		return Service{}, false, nil
	}
	s, err := postgresAt(ctx, address, "address in "+EnvPostgres)
	if errors.Is(err, errOtherVersion) {
		return Service{}, false, nil
	}
	if err != nil {
		return Service{}, false, fmt.Errorf("%s: %w", EnvPostgres, err)
	}

	return s, true, nil
}

// postgresRunning returns the server of the detached set, or one on the standard port of this machine that
// accepts our login and is suitable.
func postgresRunning(ctx context.Context) (Service, bool) {
	if s, ok := detached(ctx, KindPostgres); ok {
		if s, err := postgresAt(ctx, s.Address, "detached set"); err == nil {
			return s, true
		}
	}
	for _, user := range []string{"postgres", "postgres:postgres"} {
		address := "postgres://" + user + "@127.0.0.1:5432/postgres?sslmode=disable"
		if s, err := postgresAt(ctx, address, "already running on the standard port"); err == nil {
			return s, true
		}
	}

	return Service{}, false
}

// errOtherVersion is returned for a server of another version than the requested one.
var errOtherVersion = errors.New("testenv: another version was asked for")

// postgresAt describes the server at an address.
func postgresAt(ctx context.Context, address, origin string) (Service, error) {
	version, err := inspectPostgres(ctx, address)
	if err != nil {
		return Service{}, err
	}
	if want := os.Getenv(EnvPostgresVersion); want != "" && majorOf(version) != majorOf(want) {
		return Service{}, errOtherVersion
	}
	// This removes what killed runs have left on a server that outlives them. If it fails, another run does
	// it.
	_ = sweepDatabases(ctx, address)

	return Service{Kind: KindPostgres, Address: address, Version: version, Origin: origin, Real: true}, nil
}

// connectTimeout bounds one attempt to reach a server.
const connectTimeout = 5 * time.Second

// inspectPostgres connects, checks that the server is suitable, and returns its version.
func inspectPostgres(ctx context.Context, address string) (version string, err error) {
	conn, err := connectPostgres(ctx, address)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()

	var may, standby, old bool
	err = conn.QueryRow(ctx, `
		SELECT split_part(current_setting('server_version'), ' ', 1), rolsuper OR rolcreatedb,
			pg_is_in_recovery(), current_setting('server_version_num')::int / 10000 < $1
		FROM pg_roles WHERE rolname = current_user`, oldestPostgres).Scan(&version, &may, &standby, &old)
	if err != nil {
		return "", fmt.Errorf("testenv: inspect %s: %w", redact(address), err)
	}
	switch {
	case !may:
		err = fmt.Errorf("%w: the user of %s may not create databases", ErrUnavailable, redact(address))
	case standby:
		err = fmt.Errorf("%w: %s is a standby", ErrUnavailable, redact(address))
	case old:
		err = fmt.Errorf("%w: %s is PostgreSQL %s, need %d", ErrUnavailable, redact(address), version, oldestPostgres)
	}

	return version, err
}

func connectPostgres(ctx context.Context, address string) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()

	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("testenv: connect to %s: %w", redact(address), err)
	}

	return conn, nil
}

// withDatabase returns the address of another database on the same server.
func withDatabase(address, database string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return "", fmt.Errorf("testenv: %s=%q is not a URL", EnvPostgres, redact(address))
	}
	u.Path = "/" + database

	return u.String(), nil
}

// majorOf returns the part of a version before the first dot.
func majorOf(version string) string {
	for i, r := range version {
		if r < '0' || r > '9' {
			return version[:i]
		}
	}

	return version
}

// PostgresOptions describes a server that only one test uses.
type PostgresOptions struct {
	// Version is a major version, 14 to 18. Defaults to the version of the run's other servers.
	Version string
	// Oldest chooses the oldest version that Debian's packages have installed, for a server that is to be
	// upgraded. Defaults to false.
	Oldest bool
	// Settings are added to the server's configuration, such as
	// {"wal_level": "logical"}. Defaults to a durable server with prepared
	// transactions enabled.
	Settings map[string]string
}

// PostgresServer is a PostgreSQL server that only one test uses, which can crash, restart and reconfigure
// it. It is removed when the test ends. Its methods fail the test on errors, so call them from the test's
// goroutine.
type PostgresServer struct {
	private

	env *Env
}

// PrivatePostgres starts a server for the test alone. It takes two to three seconds; tests that need only
// a database use [Postgres].
func PrivatePostgres(tb testing.TB, o PostgresOptions) *PostgresServer {
	tb.Helper()
	s := startPrivate(tb, "", func(ctx context.Context) (*Own, error) { return OwnPostgres(ctx, o) })
	env := newEnv()
	env.maintenance.none = true // otherwise a smart stop would wait for its connections
	env.adopt(Service{Kind: KindPostgres, Address: s.own.Address, Version: s.own.Version, Real: true})

	return &PostgresServer{private: s, env: env}
}

// URL returns the address of the maintenance database. It stays the same across restarts.
func (s *PostgresServer) URL() string { return s.own.Address }

// Version returns the version that the server reports.
func (s *PostgresServer) Version() string { return s.own.Version }

// Database returns a database on this server, cloned from the templates applied in order, or empty without
// templates. The database is removed together with the server. Its pool is closed when tb ends, which may
// be a subtest of the server's test.
func (s *PostgresServer) Database(tb testing.TB, templates ...Template) *Database {
	tb.Helper()
	url, err := s.env.CreateDatabase(context.Background(), tb.Name(), templates...)
	if err != nil {
		tb.Fatal(err)
	}
	db := openDatabase(tb, url)
	db.ServerVersion = s.own.Version
	tb.Cleanup(db.Pool.Close)

	return db
}

// SignIn makes role the owner of db and lets it log in only with a password. Each call of change gives it
// another password, and ends its sessions.
func (s *PostgresServer) SignIn(tb testing.TB, db *Database, role string) (change func(password string)) {
	tb.Helper()
	run := func(sql string) {
		if _, err := db.Pool.Exec(context.Background(), sql); err != nil {
			tb.Fatal(err)
		}
	}
	name := pgx.Identifier{role}.Sanitize()
	run("CREATE ROLE " + name + " LOGIN REPLICATION; ALTER DATABASE " + pgx.Identifier{db.Name}.Sanitize() + " OWNER TO " + name)
	var path string
	if err := db.Pool.QueryRow(context.Background(), "SHOW hba_file").Scan(&path); err != nil {
		tb.Fatal(err)
	}
	rules, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	rules = append([]byte("host all "+name+" 127.0.0.1/32 scram-sha-256\n"), rules...)
	if err := os.WriteFile(path, rules, 0o600); err != nil {
		tb.Fatal(err)
	}
	run("SELECT pg_reload_conf()")
	return func(password string) {
		run(fmt.Sprintf("ALTER ROLE %s PASSWORD '%s'; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '%s'", name, password, role))
	}
}

// Standby starts a standby that follows the server. It restarts the server, so call it before the
// test connects.
func (s *PostgresServer) Standby(tb testing.TB) *PostgresStandby {
	tb.Helper()
	p := startPrivate(tb, "", func(ctx context.Context) (*Own, error) { return OwnStandby(ctx, s.own, nil) })

	return &PostgresStandby{private: p, primary: s}
}

// Stop stops the server and waits until it has exited. mode is "smart", "fast" or "immediate". The last is
// a crash in which the operating system's cache is not lost.
func (s *PostgresServer) Stop(mode string) {
	s.tb.Helper()
	sig, err := stopSignal(mode)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.end(sig)
}

// Restart calls [PostgresServer.Stop] and Start.
func (s *PostgresServer) Restart(mode string) {
	s.tb.Helper()
	s.Stop(mode)
	s.Start()
}

// stopSignal returns the signal that asks PostgreSQL to stop in a mode.
func stopSignal(mode string) (syscall.Signal, error) {
	switch mode {
	case "smart":
		return syscall.SIGTERM, nil
	case "fast":
		return syscall.SIGINT, nil
	case "immediate":
		return syscall.SIGQUIT, nil
	default:
		return 0, fmt.Errorf("testenv: stop mode %q is not smart, fast or immediate", mode)
	}
}

// PostgresStandby is a standby of a test's own server. It is removed when the test ends.
type PostgresStandby struct {
	private

	primary *PostgresServer
}

// Address returns the standby's host and port.
func (s *PostgresStandby) Address() string { return s.own.HostPort }

// Address returns the server's host and port.
func (s *PostgresServer) Address() string { return s.own.HostPort }

// Pause waits until the standby has applied everything that the primary has written. After that the
// standby applies nothing more until [PostgresStandby.Resume].
func (s *PostgresStandby) Pause() {
	s.tb.Helper()
	s.catchUp()
	s.run("SELECT pg_wal_replay_pause()")
	s.await("SELECT pg_get_wal_replay_pause_state() = 'paused'")
}

// Cut waits until the standby has applied everything that the primary has written. After that the standby
// receives nothing more, so that its promotion loses what is committed later. It must not be paused, since
// a paused standby would not stop receiving.
func (s *PostgresStandby) Cut() {
	s.tb.Helper()
	s.catchUp()
	conn, err := connectPostgres(s.tb.Context(), s.own.Address)
	if err != nil {
		s.tb.Fatal(err)
	}
	_, err = conn.Exec(s.tb.Context(), "ALTER SYSTEM SET primary_conninfo = ''")
	if err := errors.Join(err, conn.Close(s.tb.Context())); err != nil {
		s.tb.Fatal(err)
	}
	s.run("SELECT pg_reload_conf()")
	s.await("SELECT NOT EXISTS (SELECT FROM pg_stat_wal_receiver)")
}

// catchUp waits until the standby has applied everything that the primary has written.
func (s *PostgresStandby) catchUp() {
	s.tb.Helper()
	end := askOne[string](s.tb, s.primary.URL(), "SELECT pg_current_wal_insert_lsn()::text")
	s.await("SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn", end)
}

// Resume makes the standby apply again.
func (s *PostgresStandby) Resume() {
	s.tb.Helper()
	s.run("SELECT pg_wal_replay_resume()")
}

// Promote makes the standby a primary, and waits until it is one.
func (s *PostgresStandby) Promote() {
	s.tb.Helper()
	s.await("SELECT pg_promote(true, 60)")
}

// run runs a statement that returns void on the standby.
func (s *PostgresStandby) run(sql string) {
	s.tb.Helper()
	askOne[any](s.tb, s.own.Address, sql)
}

// await repeats a query on the standby until its result is true.
func (s *PostgresStandby) await(sql string, args ...any) {
	s.tb.Helper()
	for !askOne[bool](s.tb, s.own.Address, sql, args...) {
		if err := wait.For(s.tb.Context(), 5*time.Millisecond); err != nil {
			s.tb.Fatal(err)
		}
	}
}

// askOne returns the single value that a statement returns.
func askOne[T any](tb testing.TB, address, sql string, args ...any) (value T) {
	tb.Helper()
	conn, err := connectPostgres(tb.Context(), address)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(tb.Context())) }()
	rows, err := conn.Query(tb.Context(), sql, args...)
	if err != nil {
		tb.Fatal(err)
	}
	if value, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[T]); err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}

	return value
}
