// Package adopt takes over an outbox table that a service already has, on PostgreSQL, MySQL and
// MariaDB, and can give it back: docs/adopt-table.md has the procedure. Producers do not change.
//
// A trigger also writes each inserted row to leat's outbox, in the producer's own transaction.
// Exactly what commits is relayed. UPDATEs and DELETEs of the table are not events.
//
// A Config describes how to make a message from a row. Table.Recognize proposes one for tables of
// known shapes, Table.Plan shows what Table.Adopt would do, and Table.Release goes back.
//
// Stability: young, see docs/versions.md.
package adopt
