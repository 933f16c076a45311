package testenv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// CreateDatabase creates a database, cloned from the templates if there are any, and returns its address.
// The name is only a hint: the database is called leat_test_<unique>_<name>. Close drops the database.
func (e *Env) CreateDatabase(ctx context.Context, name string, templates ...Template) (url string, err error) {
	service, err := e.service(ctx, KindPostgres)
	if err != nil {
		return "", err
	}
	database := newDatabaseName(name)
	err = e.maintenance.use(ctx, service.Address, func(conn *pgx.Conn) error {
		return cloneTemplate(ctx, conn, service.Address, database, templates)
	})
	if err != nil {
		return "", err
	}
	e.mu.Lock()
	e.databases = append(e.databases, database)
	e.mu.Unlock()

	return withDatabase(service.Address, database)
}

// newDatabaseName returns a new name that starts with our prefix.
func newDatabaseName(hint string) string {
	name := databasePrefix + uniqueName() + "_" + strings.Map(nameRune, strings.ToLower(hint))

	return strings.TrimRight(name[:min(len(name), 63)], "_")
}

// forget drops one of our databases now instead of at Close.
func (e *Env) forget(ctx context.Context, database string) error {
	e.mu.Lock()
	e.databases = slices.DeleteFunc(e.databases, func(d string) bool { return d == database })
	e.mu.Unlock()

	return e.drop(ctx, []string{database})
}

func (e *Env) dropDatabases(ctx context.Context) error {
	e.mu.Lock()
	databases := e.databases
	e.databases = nil
	e.mu.Unlock()

	return e.drop(ctx, databases)
}

func (e *Env) drop(ctx context.Context, databases []string) error {
	if len(databases) == 0 {
		return nil
	}
	service, err := e.service(ctx, KindPostgres)
	if err != nil {
		return err
	}

	return e.maintenance.use(ctx, service.Address, func(conn *pgx.Conn) error {
		var errs []error
		for _, d := range databases {
			err := rollbackPrepared(ctx, conn, service.Address, d)
			errs = append(errs, err, dropDatabase(ctx, conn, d))
		}

		return errors.Join(errs...)
	})
}

// dropDatabase drops one of our databases and cuts its connections.
func dropDatabase(ctx context.Context, conn *pgx.Conn, name string) error {
	if !strings.HasPrefix(name, databasePrefix) {
		return fmt.Errorf("testenv: refusing to drop %q: not one of ours", name)
	}
	_, err := conn.Exec(ctx, `DROP DATABASE IF EXISTS `+pgx.Identifier{name}.Sanitize()+` WITH (FORCE)`)
	if err != nil {
		return fmt.Errorf("testenv: drop %s: %w", name, err)
	}

	return nil
}

// sweepAge is how old one of our databases without connections must be to count as a leftover of a killed
// run.
const sweepAge = 6 * time.Hour

// sweepDatabases removes what killed runs have left on a server that outlives them. It does what it can: a
// database with connections stays.
func sweepDatabases(ctx context.Context, address string) (err error) {
	conn, err := connectPostgres(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()

	rows, err := conn.Query(ctx, `
		SELECT datname, datistemplate, coalesce(shobj_description(oid, 'pg_database'), '')
		FROM pg_database d WHERE starts_with(datname, $1)
		AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.datid = d.oid)`, databasePrefix)
	if err != nil {
		return fmt.Errorf("testenv: sweep: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[leftover])
	if err != nil {
		return fmt.Errorf("testenv: sweep: %w", err)
	}
	for _, l := range found {
		if l.stale() {
			l.drop(ctx, conn)
		}
	}

	return nil
}

// maintenance holds connections to a server's maintenance database, on which databases are created and
// dropped. They are kept open, since otherwise each test would make the server start two more processes.
type maintenance struct {
	none bool // keep no connections

	mu   sync.Mutex
	idle []*pgx.Conn
}

// use calls do with a connection that no other caller has.
func (m *maintenance) use(ctx context.Context, address string, do func(conn *pgx.Conn) error) error {
	conn, err := m.take(ctx, address)
	if err != nil {
		return err
	}
	if err := do(conn); err != nil || m.none {
		return errors.Join(err, conn.Close(ctx))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idle = append(m.idle, conn)

	return nil
}

func (m *maintenance) take(ctx context.Context, address string) (*pgx.Conn, error) {
	for {
		conn := m.pop()
		if conn == nil {
			return connectPostgres(ctx, address)
		}
		if conn.Ping(ctx) == nil {
			return conn, nil
		}
		_ = conn.Close(ctx) // a test may have cut it
	}
}

func (m *maintenance) pop() *pgx.Conn {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.idle) == 0 {
		return nil
	}
	conn := m.idle[len(m.idle)-1]
	m.idle = m.idle[:len(m.idle)-1]

	return conn
}

// close closes the connections that are kept.
func (m *maintenance) close(ctx context.Context) error {
	var errs []error
	for conn := m.pop(); conn != nil; conn = m.pop() {
		errs = append(errs, conn.Close(ctx))
	}

	return errors.Join(errs...)
}
