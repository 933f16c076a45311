// Package pgmigrate applies embedded, versioned SQL migrations to PostgreSQL.
//
// A migration is a file called 00001_name.sql whose names of tables, indexes
// and the like are tokens, so that schema and table can be configured; see
// [Names.Render]. Versions start at 1 and have no gaps.
//
// Each migration runs in a transaction of its own, together with the row that
// records it in the table <schema>.<table>_migrations. Any number of processes
// may migrate at the same time: they take turns under an advisory lock, and the
// ones that come late find nothing to do.
//
// Migrations only go forward, by expanding first and contracting a version
// later: the library at version N runs on the schemas N-1, N and N+1, so that a
// rolling deploy never stops a producer. A schema that is newer than the library is therefore
// not an error. See design 20.1.
package pgmigrate
