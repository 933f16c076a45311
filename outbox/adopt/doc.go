// Package adopt takes over an outbox table that a service has already, on PostgreSQL, MySQL and
// MariaDB, and gives it back: docs/adopt-table.md has the procedure. Producers stay as they are.
//
// A trigger writes each row that is inserted into leat's outbox as well, in the producer's own
// transaction. What is committed is relayed, and nothing else. UPDATEs and DELETEs of the table
// are not events.
//
// A Config says how a message is made of a row. Table.Recognize proposes one for tables of known
// shapes, Table.Plan shows what Table.Adopt would do, and Table.Release goes back.
//
// Stability: young, see docs/versions.md.
package adopt
