// Package python runs what docs/any-language.md says for MySQL, MariaDB and SQLite from
// Python, beside producers, a relay and consumers in Go.
package python
