// Package replay sends history that a source retains once more.
//
// Stability: young, see docs/versions.md.
package replay
