// Package python runs the code of docs/any-language.md for MySQL, MariaDB and SQLite from Python,
// together with producers, a relay and consumers in Go.
package python
