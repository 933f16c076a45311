// Package gaps models the cursor of outboxes on database/sql: producers that lock their
// keys, draw their numbers, write their rows, and commit or abort in any order; one
// reader whose position is the last number that it has read and the numbers below it
// that it has not; and retention.
//
// The server is that part of InnoDB on which the cursor rests. A number is drawn once,
// before its row is written. A commit is visible at once and on the disk later, with all
// that was committed before. After a crash the server is where the disk was, and goes on
// numbering behind the highest row that it has: it gives numbers out again.
//
// The steps of producers, crashes, the disk and the closing of gaps are outside: that the
// reader alone can deliver whatever is committed, whoever else is under way, is the
// promise O11. Who may read is the matter of package relays.
package gaps
