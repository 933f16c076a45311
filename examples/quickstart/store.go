package main

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/leat-go/leat/inbox"
	inboxdriver "github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

//go:embed sql
var statementFiles embed.FS

// databaseName is the name of a database in -on, and of a dialect in leat.
type databaseName string

const (
	onPostgres databaseName = "postgres"
	onMySQL    databaseName = "mysql"
	onMariaDB  databaseName = "mariadb"
	onSQLite   databaseName = "sqlite"
)

func databaseNames() []databaseName {
	return []databaseName{onPostgres, onMySQL, onMariaDB, onSQLite}
}

// check reports whether this program was built for the database.
func (n databaseName) check() error {
	switch {
	case !slices.Contains(databaseNames(), n):
		return fmt.Errorf("-on %s: want one of %s", n, strings.Trim(fmt.Sprint(databaseNames()), "[]"))
	case n != onPostgres && !slices.Contains(sql.Drivers(), n.driver()):
		return fmt.Errorf("-on %s: this program was built without the driver: go run -tags demo_%s ./quickstart -on %s",
			n, n.driver(), n)
	}
	return nil
}

// driver is the name of the driver in database/sql, and of the build tag that links it.
func (n databaseName) driver() string {
	if n == onMariaDB {
		return string(onMySQL)
	}
	return string(n)
}

// statement returns the SQL of a file.
func (n databaseName) statement(name string) (string, error) {
	raw, err := statementFiles.ReadFile("sql/" + n.driver() + "/" + name + ".sql")
	return strings.TrimSuffix(strings.TrimSpace(string(raw)), ";"), err
}

// slowFor is how long a slow transaction stays open. On SQLite all others wait for it.
func (n databaseName) slowFor() time.Duration {
	if n == onSQLite {
		return 20 * time.Millisecond
	}
	return 200 * time.Millisecond
}

// maxConns is how many connections a service has: one for each worker, and a few for a relay.
const maxConns = 12

// store is the database of a service, with its outbox and inbox.
type store struct {
	on databaseName
	db *sql.DB

	outbox interface {
		outbox.Enqueuer
		Migrate(ctx context.Context) error
	}
	stats func(ctx context.Context) (admin.Stats, error)
	// enqueue is the outbox's method, or its replacement by SABOTAGE.
	enqueue func(ctx context.Context, tx *sql.Tx, msgs ...outbox.Message) error
	// carry returns ctx with a transaction in it, tx returns the transaction of ctx.
	carry  func(ctx context.Context, tx *sql.Tx) context.Context
	tx     func(ctx context.Context) *sql.Tx
	source driver.Source
	inbox  interface {
		inbox.Runner
		inboxdriver.Marker
		Migrate(ctx context.Context) error
	}
	// notify notifies the relays of other processes of commits until ctx ends.
	notify func(ctx context.Context) error
	close  func()
}

// openStore opens the database at address, in the form of its driver.
func openStore(ctx context.Context, on databaseName, address string) (s *store, err error) {
	s = &store{on: on, notify: func(context.Context) error { return nil }, close: func() {}}
	if on == onPostgres {
		err = s.openPostgres(ctx, address)
	} else {
		err = s.openSQL(address)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// openPostgres has a pool for the relay and database/sql on it for the services.
func (s *store) openPostgres(ctx context.Context, address string) error {
	cfg, err := pgxpool.ParseConfig(address)
	if err != nil {
		return err
	}
	cfg.MaxConns = maxConns
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return err
	}
	s.db = stdlib.OpenDBFromPool(pool)
	s.close = func() { _ = s.db.Close(); pool.Close() }
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	s.outbox, s.stats, s.enqueue, s.carry, s.tx = ob, ob.Admin().Stats, ob.EnqueueSQL, pgoutbox.ContextWithSQLTx, pginbox.SQLTx
	s.notify = func(ctx context.Context) error { return ob.RunNotifier(ctx) }
	if s.inbox, err = pginbox.NewSQL(s.db, consumerName, pginbox.Config{}); err != nil {
		return err
	}
	s.source, err = ob.Source(pgoutbox.SourceConfig{})
	return err
}

// openSQL opens MySQL, MariaDB or SQLite. Relays in other processes poll every few milliseconds.
func (s *store) openSQL(address string) (err error) {
	if s.db, err = sql.Open(s.on.driver(), address); err != nil {
		return err
	}
	s.db.SetMaxOpenConns(maxConns)
	s.db.SetMaxIdleConns(maxConns)
	s.close = func() { _ = s.db.Close() }
	ob, err := sqloutbox.New(s.db, outbox.Dialect(s.on), sqloutbox.Config{})
	if err != nil {
		return err
	}
	s.outbox, s.stats, s.enqueue, s.carry, s.tx = ob, ob.Admin().Stats, ob.Enqueue, sqloutbox.ContextWithTx, sqlinbox.Tx
	if s.inbox, err = sqlinbox.New(s.db, outbox.Dialect(s.on), consumerName, sqlinbox.Config{}); err != nil {
		return err
	}
	s.source, err = ob.Source(sqloutbox.SourceConfig{})
	return err
}

// migrate creates leat's tables, and those of a service.
func (s *store) migrate(ctx context.Context, schema string) error {
	if err := errors.Join(s.outbox.Migrate(ctx), s.inbox.Migrate(ctx)); err != nil {
		return err
	}
	tables, err := s.on.statement(schema)
	if err != nil {
		return err
	}
	for statement := range strings.SplitSeq(tables, ";\n") {
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("business tables: %w", err)
		}
	}
	return nil
}

// inTx runs fn in a transaction, and wakes the relay of this process.
func (s *store) inTx(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(s.carry(ctx, tx), tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	s.outbox.Wake()
	return nil
}

// exec runs the statement of a file, and returns how many rows it has changed.
func (s *store) exec(ctx context.Context, tx *sql.Tx, name string, args ...any) (int64, error) {
	statement, err := s.on.statement(name)
	if err != nil {
		return 0, err
	}
	result, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return result.RowsAffected()
}

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// scan reads the only value of the statement of a file.
func (s *store) scan(ctx context.Context, db querier, name string, args ...any) (value int64, err error) {
	statement, err := s.on.statement(name)
	if err == nil {
		err = db.QueryRowContext(ctx, statement, args...).Scan(&value)
	}
	return value, err
}

// pending counts the events that no relay has settled.
func (s *store) pending(ctx context.Context) (left int64, err error) {
	stats, err := s.stats(ctx)
	for _, group := range stats.Groups {
		for _, slot := range group.Slots {
			left += slot.Backlog
		}
		left += int64(group.Held)
	}
	return left, err
}
