// Package sqltest opens databases for the tests of the stores that work on any *sql.DB. It is in a
// separate module, with the drivers, so that leat requires none of them.
package sqltest
