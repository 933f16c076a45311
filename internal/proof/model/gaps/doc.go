// Package gaps models the cursor of outboxes on database/sql. Producers lock their keys, draw their
// numbers, write their rows, and commit or abort in any order. The position of the single reader consists
// of the last number that it has read and the lower numbers that it has not read. Retention deletes
// settled rows.
//
// The server is the part of InnoDB that the cursor depends on. A number is drawn once, before its row is
// written. A commit is visible at once and on the disk later, with all earlier commits. After a crash the
// server is in the state of the disk. It continues numbering after its highest row, so it gives some
// numbers out again.
//
// The steps of producers, crashes, the disk and the closing of gaps are outside: promise O11 says that the
// reader alone can deliver every committed row, whatever other transactions are open. Package relays
// models who may read.
package gaps
