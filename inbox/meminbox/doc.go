// Package meminbox is an inbox in memory, for tests and as the plainest example
// of what an inbox does. Its transactions are real: a claim is invisible until
// it commits, another delivery of the same message is Busy meanwhile, and
// nothing is left of a transaction that is rolled back.
//
// Effects join the transaction through OnCommit. All is lost when the process
// ends.
//
// Stability: young, see docs/versions.md.
package meminbox
