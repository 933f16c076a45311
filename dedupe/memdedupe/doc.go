// Package memdedupe is a dedupe.Store in memory: for one process, for tests, and
// as the reference that the others are compared with.
//
// Stability: young, see docs/versions.md.
package memdedupe
