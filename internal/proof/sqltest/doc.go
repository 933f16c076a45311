// Package sqltest opens databases for the tests of the stores that work on any *sql.DB.
// It is in a module of its own, with the drivers, so that leat requires none of them.
package sqltest
