// Package sqltest opens databases for the tests of the stores that work on any *sql.DB. It is a separate
// module because of the drivers, so that leat requires none of them.
package sqltest
