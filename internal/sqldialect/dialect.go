// Package sqldialect describes how the databases behind database/sql differ, for the stores that
// work on any of them. It imports no driver.
package sqldialect

import (
	"errors"
	"fmt"
)

// Name names a dialect.
type Name string

const (
	// MySQL is MySQL 8.0 or later, on InnoDB.
	MySQL Name = "mysql"
	// MariaDB is MariaDB 10.6 or later, on InnoDB.
	MariaDB Name = "mariadb"
	// SQLite is SQLite 3.35 or later, in a file.
	SQLite Name = "sqlite"
)

// ErrUnknown is returned by Of for an unknown name.
var ErrUnknown = errors.New("leat: unknown dialect")

// Dialect is a database's syntax. It is a value and never changes.
type Dialect struct {
	Name Name

	// Now is an expression: the database's clock when the statement began, in
	// microseconds since 1970, in UTC. NOW() of MySQL would depend on time_zone.
	Now string

	// Later is a function of two numbers: the greater one.
	Later string

	// ForUpdate, SkipLocked and NoWait end a SELECT that locks its rows until the transaction ends: it
	// waits for locked rows, skips them, or fails. Empty if OneWriter.
	ForUpdate, SkipLocked, NoWait string

	// InsertIgnore begins an INSERT that skips rows whose key exists.
	InsertIgnore string
	// Database is the name of the database that a session is in; '' on SQLite, whose files may
	// be moved.
	Database string

	// Server is an expression: which server runs the statement, in words. SameServer is a
	// condition with one parameter, a value of Server: if another server runs the statement, it
	// fails with SeveralRows. With an empty parameter it holds. See rule R14.
	Server, SameServer string

	// OneWriter is set if the whole database has one writer at a time: transactions that
	// write begin one after the other, so that nothing else has to be locked.
	OneWriter bool

	// Folder is the folder of the dialect's migrations. MariaDB uses those of MySQL.
	Folder string
}

// server identifies a MySQL or MariaDB server: if a connection reaches two servers, at least one
// part differs.
const server = "CONCAT(@@hostname, ':', @@port, ' (server_id ', @@server_id, ')')"

// Of returns the dialect of a name, which may be an outbox.Dialect. The error wraps ErrUnknown.
func Of[N ~string](of N) (Dialect, error) {
	switch name := Name(of); name {
	case MySQL, MariaDB:
		return Dialect{
			Name:      name,
			Now:       "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
			Later:     "GREATEST",
			ForUpdate: "FOR UPDATE", SkipLocked: "FOR UPDATE SKIP LOCKED", NoWait: "FOR UPDATE NOWAIT",
			InsertIgnore: "INSERT IGNORE INTO", Database: "LOWER(DATABASE())", Folder: "mysql",
			Server: server, SameServer: "IF(? IN ('', " + server + "), 1, (SELECT 1 UNION ALL SELECT 2)) = 1",
		}, nil
	case SQLite:
		return Dialect{
			Name: name,
			// SQLite's clock has only milliseconds.
			Now:          "(CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000)",
			Later:        "MAX",
			InsertIgnore: "INSERT OR IGNORE INTO", Database: "''", OneWriter: true, Folder: "sqlite",
			Server: "''", SameServer: "? = ''",
		}, nil
	default:
		return Dialect{}, fmt.Errorf("%w: %q: must be %q, %q or %q", ErrUnknown, string(name), MySQL, MariaDB, SQLite)
	}
}
