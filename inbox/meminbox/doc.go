// Package meminbox is an inbox in memory, for tests and as the plainest example of what an inbox
// does. Its transactions are real: a claim is invisible until it commits, until then another
// delivery of the same message is Busy, and a transaction that is rolled back leaves nothing
// behind.
//
// Effects join the transaction through OnCommit. Everything is lost when the process ends.
//
// Stability: young, see docs/versions.md.
package meminbox
