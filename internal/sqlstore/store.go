// Package sqlstore is what the stores on database/sql have in common: their statements, their
// transactions, and their requirements on a database.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlmigrate"
)

// Store is a component's place in a database. It is safe for concurrent use.
type Store struct {
	DB      *sql.DB
	Dialect sqldialect.Dialect
	Table   string
	SQL     Statements

	notMigrated error
	migrations  sqlmigrate.Set
}

// Component is a component with its own tables.
type Component struct {
	// Name is its name in errors, such as "outbox".
	Name string
	// Statements have the files sql/*.sql, Migrations the files migrations/*/*.sql.
	Statements []fs.FS
	Migrations fs.FS
	// NotMigrated is wrapped by errors about a schema that is missing or too old.
	NotMigrated error
}

// New returns the store of c in tables whose names begin with table, which has passed
// sqldialect.CheckTable. db may be nil for uses that need no database.
func New(db *sql.DB, d sqldialect.Dialect, table string, c Component) (*Store, error) {
	s := &Store{
		DB: db, Dialect: d, Table: table, notMigrated: c.NotMigrated,
		migrations: sqlmigrate.Set{Component: c.Name, Dialect: d, Table: table, FS: c.Migrations},
	}
	var err error
	s.SQL, err = load(d, table, append([]fs.FS{ownFiles}, c.Statements...))
	return s, err
}

// Look runs work on one view of the database. It is a transaction, so that a connection whose
// autocommit is off shows the current rows. At its isolation level reading locks nothing, whatever
// the settings of the pool's connections are. It is not READ ONLY on a server: read/write splitters
// send such transactions to replicas (rule R14).
func (s *Store) Look(ctx context.Context, work func(q Querier) error) error {
	opts := s.Options(sql.LevelRepeatableRead)
	opts.ReadOnly = s.Dialect.OneWriter
	return s.Describe(onTx(ctx, s.DB, opts, func(tx *sql.Tx) error {
		if s.Dialect.OneWriter {
			if err := refuse(ctx, tx, Needs{}, readsUncommitted()); err != nil {
				return err
			}
		}
		return work(tx)
	}))
}

// Change runs work in a transaction and commits it if work returns nil. Each statement sees what is
// committed when it begins, and locks only the rows that it finds.
func (s *Store) Change(ctx context.Context, work func(tx *sql.Tx) error) error {
	return s.Describe(Transact(ctx, s.DB, s.Options(sql.LevelReadCommitted), work))
}

// ChangeOn is Change on a connection, which stays open.
func (s *Store) ChangeOn(ctx context.Context, on *sql.Conn, work func(tx *sql.Tx) error) error {
	tx, err := on.BeginTx(ctx, s.Options(sql.LevelReadCommitted))
	if err != nil {
		return s.Describe(err)
	}
	defer func() { _ = tx.Rollback() }() // has ended already if Commit was reached
	if err := work(tx); err != nil {
		return s.Describe(err)
	}
	return s.Describe(tx.Commit())
}

// Options are the options of a transaction. SQLite has no isolation levels.
func (s *Store) Options(level sql.IsolationLevel) *sql.TxOptions {
	if s.Dialect.OneWriter {
		level = sql.LevelDefault
	}
	return &sql.TxOptions{Isolation: level}
}

// errFileBusy explains SQLite's answer after a wait.
var errFileBusy = errors.New("leat: another transaction has kept the database file for longer than busy_timeout: try again")

// Describe adds the meaning of a database's error for the component, if it is known.
func (s *Store) Describe(err error) error {
	if sqldialect.MissingTable(err) && !errors.Is(err, s.notMigrated) {
		return fmt.Errorf("%w: table %s: %w", s.notMigrated, s.Table, err)
	}
	if s.Dialect.OneWriter && sqldialect.Number(err) == sqldialect.SQLiteBusy && !errors.Is(err, errFileBusy) {
		return fmt.Errorf("%w: %w", errFileBusy, err)
	}
	return err
}
