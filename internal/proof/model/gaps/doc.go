// Package gaps models the cursor of outboxes on database/sql. Producers lock their keys, draw their
// numbers, write their rows, and commit or abort in any order. One reader has as its position the
// last number that it has read, and the lower numbers that it has not read. There is also
// retention.
//
// The server is the part of InnoDB that the cursor depends on. A number is drawn once, before its
// row is written. A commit is visible at once and on the disk later, with all earlier commits.
// After a crash the server is in the state of the disk, and numbers on from the highest row that it
// has: it gives numbers out again.
//
// The steps of producers, crashes, the disk and the closing of gaps are outside: that the reader
// alone can deliver every committed row, whatever other transactions are open, is the promise O11.
// Package relays models who may read.
package gaps
