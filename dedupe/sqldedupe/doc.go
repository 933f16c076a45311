// Package sqldedupe is a dedupe.Store in MySQL, MariaDB or SQLite, on any *sql.DB, for services
// that have one of them and no Redis. It imports no driver. Each step is a short transaction of
// its own, so a slow handler holds no connection and no transaction.
//
// For effects in the same database use package sqlinbox: it commits the memory with the effect.
//
// Stability: young, see docs/versions.md.
package sqldedupe
