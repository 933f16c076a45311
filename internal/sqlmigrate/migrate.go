// Package sqlmigrate applies versioned migrations through database/sql.
package sqlmigrate

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/sqldialect"
)

// ErrBehind is wrapped by the error of Require if the schema is missing or too old.
var ErrBehind = errors.New("leat: schema is missing or too old")

// behindError reports how old a schema is, and what to do. It matches ErrBehind, but does not
// repeat its text: callers wrap it in outbox.ErrNotMigrated.
type behindError string

func (e behindError) Error() string { return string(e) }

// Is reports whether target is ErrBehind.
func (behindError) Is(target error) bool { return target == ErrBehind }

// lockSeconds bounds the wait for another process that migrates.
const lockSeconds = 60

// Migrate applies the missing migrations. Any number of processes may call it at once. On MySQL and
// MariaDB each statement commits by itself, so running the files of a migration again must do
// nothing. On SQLite everything is one transaction.
func (s Set) Migrate(ctx context.Context, db *sql.DB) error {
	all, err := s.load()
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return s.wrap(err)
	}
	defer discard(conn)
	return s.wrap(s.explain(ctx, conn, s.migrate(ctx, conn, all)))
}

func (s Set) migrate(ctx context.Context, conn *sql.Conn, all []migration) error {
	current, err := s.current(ctx, conn)
	if err == nil && current >= len(all) || err != nil && !sqldialect.MissingTable(err) {
		return err
	}
	if s.Dialect.OneWriter {
		_, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	} else {
		err = s.lock(ctx, conn)
	}
	if err == nil {
		err = s.apply(ctx, conn, all)
	}
	if err == nil && s.Dialect.OneWriter {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	return err
}

// explain adds to an error of Vitess what the reason may be: a sharded keyspace is refused by the statement
// that cannot be split, in words about that statement.
func (s Set) explain(ctx context.Context, db Querier, err error) error {
	if err == nil || s.Dialect.OneWriter {
		return err
	}
	var version, database string
	asked := db.QueryRowContext(ctx, "SELECT VERSION(), DATABASE()").Scan(&version, &database)
	if asked != nil || !strings.Contains(version, "Vitess") || strings.Contains(database, ":") {
		return err
	}
	return fmt.Errorf("keyspace %s of Vitess: if it is sharded, name one of its shards as the database, %s:SHARD: %w", database, database, err)
}

// lock takes a lock that ends with the connection. Its name is hashed here: it has room for 64
// bytes, and not all servers have the same hash functions.
func (s Set) lock(ctx context.Context, conn *sql.Conn) error {
	var database string
	if err := conn.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&database); err != nil {
		return err
	}
	// Behind Vitess, a connection to a shard has locks only once it has a setting of its own.
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("SET SESSION innodb_lock_wait_timeout = %d", lockSeconds)); err != nil {
		return err
	}
	name := fmt.Sprintf("leat %x", keyhash.Lock("migrate", database, s.Table))
	var got sql.NullInt64
	err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", name, lockSeconds).Scan(&got)
	if err == nil && got.Int64 != 1 {
		err = errors.New("another process has been migrating for a minute")
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, "SET autocommit = 1")
	}
	return err
}

func (s Set) apply(ctx context.Context, conn *sql.Conn, all []migration) error {
	if _, err := conn.ExecContext(ctx, s.render(createVersions)); err != nil {
		return err
	}
	current, err := s.current(ctx, conn)
	if err != nil {
		return err
	}
	for _, m := range all[min(current, len(all)):] {
		for _, statement := range m.statements() {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
		if _, err := conn.ExecContext(ctx, s.render(insertVersion), m.version); err != nil {
			return err
		}
	}
	return nil
}

// Current returns the version of the schema, 0 if there is none.
func (s Set) Current(ctx context.Context, db Querier) (int, error) {
	n, err := s.current(ctx, db)
	if sqldialect.MissingTable(err) {
		return 0, nil
	}
	return n, s.wrap(s.explain(ctx, db, err))
}

// Querier is a pool, a connection or a transaction.
type Querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (s Set) current(ctx context.Context, db Querier) (version int, err error) {
	err = db.QueryRowContext(ctx, s.render(lastVersion)).Scan(&version)
	return version, err
}

// Require returns an error that wraps ErrBehind if the schema is older than version.
func (s Set) Require(ctx context.Context, db Querier, version int) error {
	current, err := s.Current(ctx, db)
	if err != nil {
		return err
	}
	if current < version {
		return behindError(fmt.Sprintf("%s %s is at version %d, needed is %d or later: call Migrate, or run leat migrate up",
			s.Component, s.Table, current, version))
	}
	return nil
}

func (s Set) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("leat: migrate %s %s: %w", s.Component, s.Table, err)
}

// discard closes conn for good, which ends its lock, transaction and settings.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}
