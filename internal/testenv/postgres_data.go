package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
)

// Dir returns the server's directory, which is removed when the server is closed. The server's data is in
// its subdirectory data.
func (o *Own) Dir() string { return o.server.dir }

func (o *Own) data() string { return filepath.Join(o.server.dir, "data") }

// CopyData copies the data of a stopped server to a path. The path must not exist, or contain an earlier
// copy.
func (o *Own) CopyData(ctx context.Context, to string) error { return copyDir(ctx, o.data(), to) }

// TakeData replaces the data of a stopped server with a copy.
func (o *Own) TakeData(ctx context.Context, from string) error { return copyDir(ctx, from, o.data()) }

// copyDir replaces a directory with a copy of another, with its owners and modes.
func copyDir(ctx context.Context, from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("testenv: make room for a copy: %w", err)
	}
	if out, err := exec.CommandContext(ctx, "cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("testenv: copy %s: %w\n%s", from, err, out)
	}

	return nil
}

// NewCluster resets the data of a stopped server to that of its first start. For PostgreSQL that is
// another cluster, without databases.
func (o *Own) NewCluster(ctx context.Context) error {
	if err := os.RemoveAll(o.data()); err != nil {
		return fmt.Errorf("testenv: remove the cluster: %w", err)
	}
	p := o.server.proc.plan
	for _, argv := range p.Prepare {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = p.Dir, append(os.Environ(), p.Env...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.User.credential()}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("testenv: %s: %w\n%s", argv[0], err, out)
		}
	}

	return nil
}

// Program returns the path of a program that came with the server, or of one in PATH.
func (o *Own) Program(name string) (string, error) {
	path := filepath.Join(filepath.Dir(o.server.proc.plan.Argv[0]), name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("testenv: program %s: %w", name, err)
	}

	return path, nil
}

// Age advances the counters of transactions and multixacts of a stopped server to n, as years of work
// would. The contents of its databases then have that age. Start the server with a long
// autovacuum_naptime, since autovacuum would make everything young again within seconds.
func (s *PostgresServer) Age(n int64) {
	s.tb.Helper()
	// The files that the server reads when it starts: pages of the states of transactions, four to a
	// byte, and of the offsets of multixacts, four bytes each.
	const segment = 32 * 8192
	s.blank("pg_xact", n/(segment*4), segment)
	s.blank("pg_multixact/offsets", n/(segment/4), segment)
	next := strconv.FormatInt(n, 10)
	s.program("pg_resetwal", "-x", next, "-m", next+",1", s.own.data())
}

// BecomeStandby makes a stopped server start as a standby without a primary.
func (s *PostgresServer) BecomeStandby() {
	s.tb.Helper()
	s.write(filepath.Join(s.own.data(), "standby.signal"), nil)
}

// Backup restarts the server, and copies its data in between. The returned function ends the server and
// recovers it from the copy, by the log that it has written since: up to the recovery target in its
// settings, where it becomes a primary of another timeline. Settings need recovery_target_action
// "promote", restore_command "false", and a wal_keep_size that keeps this log.
func (s *PostgresServer) Backup() (restore func()) {
	s.tb.Helper()
	ctx := context.Background()
	base, kept, log := filepath.Join(s.own.Dir(), "base"), filepath.Join(s.own.Dir(), "log"), filepath.Join(s.own.data(), "pg_wal")
	s.Stop("fast")
	if err := s.own.CopyData(ctx, base); err != nil {
		s.tb.Fatal(err)
	}
	s.Start()

	return func() {
		s.tb.Helper()
		s.Stop("fast")
		for _, dirs := range [][2]string{{log, kept}, {base, s.own.data()}, {kept, log}} {
			if err := copyDir(ctx, dirs[0], dirs[1]); err != nil {
				s.tb.Fatal(err)
			}
		}
		s.write(filepath.Join(s.own.data(), "recovery.signal"), nil)
		s.Start()
		for askOne[bool](s.tb, s.URL(), "SELECT pg_is_in_recovery()") {
			if err := wait.For(s.tb.Context(), 5*time.Millisecond); err != nil {
				s.tb.Fatal(err)
			}
		}
	}
}

// UpgradeFrom gives the server, which must not have databases yet, those of another one by pg_upgrade. It
// stops the other one. Without pg_upgrade the test is skipped; in CI it fails.
func (s *PostgresServer) UpgradeFrom(old *PostgresServer) {
	s.tb.Helper()
	if _, err := s.own.Program("pg_upgrade"); err != nil {
		Available(s.tb, fmt.Errorf("%w: %w", ErrUnavailable, err))
	}
	// It connects to all of them, and our templates let nobody in.
	askOne[int64](s.tb, old.URL(), `WITH u AS (UPDATE pg_database SET datallowconn = true WHERE datname <> 'template0' RETURNING 1) SELECT count(*) FROM u`)
	const checksums = "SHOW data_checksums" // on by default from PostgreSQL 18 on; both must have them
	enable := askOne[string](s.tb, s.URL(), checksums) != askOne[string](s.tb, old.URL(), checksums)
	old.Stop("fast")
	s.Stop("fast")
	if enable {
		old.program("pg_checksums", "--enable", "-D", old.own.data())
	}
	port := func(o *Own) string { return strconv.Itoa(o.server.port) }
	bin := func(o *Own) string { return filepath.Dir(o.server.proc.plan.Argv[0]) }
	s.program("pg_upgrade", "-U", "postgres", "-b", bin(old.own), "-B", bin(s.own), "-d", old.own.data(), "-D", s.own.data(),
		"-p", port(old.own), "-P", port(s.own))
	s.Start()
}

// blank writes a segment of zeros.
func (s *PostgresServer) blank(dir string, segment int64, size int) {
	s.tb.Helper()
	s.write(filepath.Join(s.own.data(), dir, fmt.Sprintf("%04X", segment)), make([]byte, size))
}

// write writes a file of the server's data, with its owner.
func (s *PostgresServer) write(path string, content []byte) {
	s.tb.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		s.tb.Fatal(err)
	}
	if credential := s.own.server.proc.plan.User.credential(); credential != nil {
		if err := os.Chown(path, int(credential.Uid), int(credential.Gid)); err != nil {
			s.tb.Fatal(err)
		}
	}
}

// program runs one of the server's programs, as the user as whom the server runs.
func (s *PostgresServer) program(name string, args ...string) {
	s.tb.Helper()
	path, err := s.own.Program(name)
	if err != nil {
		s.tb.Fatal(err)
	}
	cmd := exec.CommandContext(s.tb.Context(), path, args...)
	cmd.Dir, cmd.SysProcAttr = s.own.Dir(), &syscall.SysProcAttr{Credential: s.own.server.proc.plan.User.credential()}
	if out, err := cmd.CombinedOutput(); err != nil {
		s.tb.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

// LockTable locks table against all other sessions until release is called. The function waits returns
// once another session waits for the lock.
func (d *Database) LockTable(ctx context.Context, table string) (waits func(ctx context.Context) error, release func(), err error) {
	conn, err := pgx.Connect(ctx, d.URL)
	if err != nil {
		return nil, nil, err
	}
	release = func() { _ = conn.Close(context.Background()) }
	if _, err := conn.Exec(ctx, "BEGIN; LOCK TABLE "+table); err != nil {
		release()

		return nil, nil, err
	}

	return func(ctx context.Context) error { return d.awaitLock(ctx, table) }, release, nil
}

func (d *Database) awaitLock(ctx context.Context, table string) error {
	for {
		var waits bool
		err := d.Pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = $1::text::regclass AND NOT granted)", table).Scan(&waits)
		if err != nil || waits {
			return err
		}
		if err := wait.For(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

// Unusual returns settings of a database that change how values are written, and what a statement may do.
// leat works with them, in every mode of pgx.
func Unusual() []string {
	return []string{
		"DateStyle = 'SQL, DMY'", "IntervalStyle = 'sql_standard'", "TimeZone = 'Asia/Kathmandu'", "bytea_output = 'escape'",
		"extra_float_digits = -15", "quote_all_identifiers = on", "default_transaction_deferrable = on",
		"default_transaction_isolation = 'serializable'", "lc_monetary = 'C'",
	}
}

// Set makes settings, such as "jit = off", apply to all new sessions of the database. It also makes the
// pool open its connections again.
func (d *Database) Set(tb testing.TB, settings ...string) {
	tb.Helper()
	for _, setting := range settings {
		if _, err := d.Pool.Exec(context.Background(), "ALTER DATABASE "+pgx.Identifier{d.Name}.Sanitize()+" SET "+setting); err != nil {
			tb.Fatal(err)
		}
	}
	d.Pool.Reset()
}

// ClockOff returns a pool of sessions whose clock is wrong by an interval, such as "30 days". Defaults of
// columns and views use the right clock.
func (d *Database) ClockOff(tb testing.TB, by string) *pgxpool.Pool {
	tb.Helper()
	config := d.Pool.Config()
	config.ConnConfig.RuntimeParams["clock.off"] = by
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	for _, name := range []string{"clock_timestamp", "statement_timestamp"} {
		if _, err = pool.Exec(context.Background(), `DO $do$ BEGIN
			IF to_regprocedure('pg_catalog.`+name+`_right()') IS NULL THEN
				ALTER FUNCTION pg_catalog.`+name+`() RENAME TO `+name+`_right;
				CREATE FUNCTION pg_catalog.`+name+`() RETURNS timestamptz LANGUAGE sql AS
					$$ SELECT pg_catalog.`+name+`_right() + coalesce(nullif(current_setting('clock.off', true), ''), '0')::interval $$;
			END IF; END $do$`); err != nil {
			tb.Fatal(err)
		}
	}
	return pool
}

// strangers creates objects as a role could that has only the right to CREATE in the schema public. For
// some arguments all of them match better than PostgreSQL's objects of the same name. A function records
// that it was called, an aggregate that a view was made with it.
const strangers = `
CREATE TABLE public.loot (what text);
GRANT ALL ON public.loot TO public;
DO $do$
DECLARE
    signature text;
BEGIN
    FOREACH signature IN ARRAY ARRAY[
        'jsonb_build_object(text, text)', 'jsonb_build_object(text, bigint)', 'jsonb_build_object(text, integer)',
        'jsonb_build_object(text, timestamptz)', 'jsonb_build_object(text, bigint, text, jsonb)', 'jsonb_build_object(text, integer, text, jsonb)'
    ] LOOP
        EXECUTE 'CREATE FUNCTION public.' || signature || ' RETURNS jsonb LANGUAGE plpgsql AS $f$
            BEGIN INSERT INTO public.loot VALUES (' || quote_literal(signature) || '); RETURN ''{}''::jsonb; END $f$';
    END LOOP;
    FOREACH signature IN ARRAY ARRAY['concat_ws(text, uuid, oid, bigint)', 'concat_ws(text, text, oid, bigint)'] LOOP
        EXECUTE 'CREATE FUNCTION public.' || signature || ' RETURNS text LANGUAGE plpgsql AS $f$
            BEGIN INSERT INTO public.loot VALUES (' || quote_literal(signature) || '); RETURN ''''; END $f$';
    END LOOP;
    FOREACH signature IN ARRAY ARRAY['smallint', 'bigint', 'uuid', 'text', 'bytea', 'jsonb', 'timestamptz'] LOOP
        EXECUTE 'CREATE FUNCTION public.unnest(' || signature || '[]) RETURNS SETOF ' || signature || ' LANGUAGE plpgsql AS $f$
            BEGIN INSERT INTO public.loot VALUES (''unnest''); RETURN QUERY SELECT pg_catalog.unnest($1); END $f$';
        EXECUTE 'CREATE FUNCTION public.gather(' || signature || '[], ' || signature || ') RETURNS ' || signature || '[] LANGUAGE plpgsql AS $f$
            BEGIN INSERT INTO public.loot VALUES (''array_agg''); RETURN $1 || $2; END $f$';
        EXECUTE 'CREATE AGGREGATE public.array_agg(' || signature || ') (SFUNC = public.gather, STYPE = ' || signature || '[])';
    END LOOP;
    CREATE FUNCTION public.times(bigint, interval) RETURNS interval LANGUAGE plpgsql AS $f$
        BEGIN INSERT INTO public.loot VALUES ('bigint * interval'); RETURN $1::float8 OPERATOR(pg_catalog.*) $2; END $f$;
    CREATE OPERATOR public.* (LEFTARG = bigint, RIGHTARG = interval, FUNCTION = public.times);
    CREATE FUNCTION public.times(numeric, integer) RETURNS numeric LANGUAGE plpgsql AS $f$
        BEGIN INSERT INTO public.loot VALUES ('numeric * integer'); RETURN $1 OPERATOR(pg_catalog.*) $2::numeric; END $f$;
    CREATE OPERATOR public.* (LEFTARG = numeric, RIGHTARG = integer, FUNCTION = public.times);
END $do$`

// Strangers creates objects in the schema public of db that PostgreSQL uses instead of its own objects
// wherever a statement is not careful.
func Strangers(tb testing.TB, db *Database) {
	tb.Helper()
	if _, err := db.Pool.Exec(context.Background(), strangers); err != nil {
		tb.Fatal(err)
	}
}

// RequireNotCalled fails tb if an object that Strangers created was called, or if a view or a default uses
// one.
func RequireNotCalled(tb testing.TB, db *Database) {
	tb.Helper()
	var called []string
	err := db.Pool.QueryRow(context.Background(), `
		SELECT coalesce(pg_catalog.array_agg(DISTINCT what), '{}') FROM (
			SELECT what FROM public.loot
			UNION ALL
			SELECT 'kept: ' || p.oid::regprocedure::text
			FROM pg_depend d JOIN pg_proc p ON d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid
			WHERE p.pronamespace = 'public'::regnamespace AND d.classid IN ('pg_rewrite'::regclass, 'pg_attrdef'::regclass, 'pg_constraint'::regclass)) x`).Scan(&called)
	if err != nil {
		tb.Fatal(err)
	}
	if len(called) > 0 {
		tb.Errorf("objects of strangers are called: %q", called)
	}
}

// LockDown revokes the right to take advisory locks in db from every role except roles, with the
// statements that docs/security.md shows to operators.
func LockDown(tb testing.TB, db *Database, roles ...string) {
	tb.Helper()
	_, file, _, ok := runtime.Caller(0)
	require.True(tb, ok)
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(file), "../../docs/security.md"))
	require.NoError(tb, err)
	_, section, ok := strings.Cut(string(raw), "## Who may lock\n")
	require.True(tb, ok)
	_, section, ok = strings.Cut(section, "```sql\n")
	require.True(tb, ok)
	sql, _, _ := strings.Cut(section, "```")
	require.Contains(tb, sql, "leat_services")
	names := make([]string, len(roles))
	for i, role := range roles {
		names[i] = pgx.Identifier{role}.Sanitize()
	}
	_, err = db.Pool.Exec(tb.Context(), strings.ReplaceAll(sql, "leat_services", strings.Join(names, ", ")), pgx.QueryExecModeSimpleProtocol)
	require.NoError(tb, err)
}

// OnDatabase runs an example on a database of its own, in which setUp was executed. It is for Examples,
// which have no testing.TB to pass to Postgres. The database is dropped when run returns.
func OnDatabase(setUp string, run func(ctx context.Context, pool *pgxpool.Pool) error) (err error) {
	ctx := context.Background()
	env, err := Start(ctx, Needs{Postgres: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	url, err := env.CreateDatabase(ctx, "example")
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, setUp); err != nil {
		return err
	}
	return run(ctx, pool)
}

// rollbackPrepared rolls back the prepared transactions of a database, which even a forced drop does not
// end. That can only be done in a session of that database.
func rollbackPrepared(ctx context.Context, maintenance *pgx.Conn, address, database string) (err error) {
	var held bool
	err = maintenance.QueryRow(ctx,
		`SELECT EXISTS (SELECT FROM pg_prepared_xacts WHERE database = $1)`, database).Scan(&held)
	if err != nil {
		return fmt.Errorf("testenv: prepared transactions: %w", err)
	}
	if !held {
		return nil
	}
	url, err := withDatabase(address, database)
	if err != nil {
		return err
	}
	conn, err := connectPostgres(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()

	rows, err := conn.Query(ctx, `SELECT gid FROM pg_prepared_xacts WHERE database = current_database()`)
	if err != nil {
		return fmt.Errorf("testenv: prepared transactions: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("testenv: prepared transactions: %w", err)
	}
	for _, id := range ids {
		// The grammar requires a literal here, not an expression.
		if _, err := conn.Exec(ctx, `ROLLBACK PREPARED `+quoteLiteral(id)); err != nil {
			return fmt.Errorf("testenv: prepared transaction %q: %w", id, err)
		}
	}

	return nil
}

func quoteLiteral(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
